; Scopes.
((compilation_unit) @scope.module (#set! ordered))
(method_declaration name: (identifier) @name @outside @binds.class) @scope.function
(constructor_declaration name: (identifier) @name @outside) @scope.function
(local_function_statement name: (identifier) @name @outside @binds) @scope.function
(lambda_expression) @scope.function
(class_declaration name: (identifier) @name @outside @binds) @scope.class
(interface_declaration name: (identifier) @name @outside @binds) @scope.class
(struct_declaration name: (identifier) @name @outside @binds) @scope.class
(record_declaration name: (identifier) @name @outside @binds) @scope.class
(enum_declaration name: (identifier) @name @outside @binds) @scope.class
(namespace_declaration name: (_) @name @outside) @scope.class
(block) @scope.block
[(catch_clause) (using_statement)] @scope.block
(for_statement) @scope.loop
(foreach_statement right: (_) @outside) @scope.loop

; Parameters, variables and fields.
(parameter name: (identifier) @binds)
(foreach_statement left: (identifier) @binds.nearest)
(catch_declaration name: (identifier) @binds.nearest)
(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @binds.nearest)))
(using_statement (variable_declaration (variable_declarator name: (identifier) @binds.nearest)))
(for_statement initializer: (variable_declaration (variable_declarator name: (identifier) @binds.nearest)))
(field_declaration (variable_declaration (variable_declarator name: (identifier) @binds.class)))
(property_declaration name: (identifier) @binds.class)
(enum_member_declaration name: (identifier) @binds.class)

; Names that are looked up in something else.
(member_access_expression expression: (_) @owner name: (identifier) @member)
(qualified_name qualifier: (_) @owner name: (identifier) @member)

; Declared types.
(parameter type: (identifier) @type name: (identifier) @typed)
(variable_declaration type: (identifier) @type (variable_declarator name: (identifier) @typed))
