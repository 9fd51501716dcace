; Scopes.
((program) @scope.module (#set! ordered))
(method_declaration name: (identifier) @name @outside @binds.class) @scope.function
(method_declaration type: (_) @outside)
(constructor_declaration name: (identifier) @name @outside) @scope.function
(lambda_expression) @scope.function
(class_declaration name: (identifier) @name @outside @binds) @scope.class
(interface_declaration name: (identifier) @name @outside @binds) @scope.class
(enum_declaration name: (identifier) @name @outside @binds) @scope.class
(record_declaration name: (identifier) @name @outside @binds) @scope.class
(annotation_type_declaration name: (identifier) @name @outside @binds) @scope.class
(object_creation_expression (class_body) @scope.class)
(block) @scope.block
(switch_block) @scope.block
[(catch_clause) (try_with_resources_statement)] @scope.block
(for_statement) @scope.loop
(enhanced_for_statement value: (_) @outside) @scope.loop

; Parameters, variables and fields.
(formal_parameter name: (identifier) @binds)
(spread_parameter (variable_declarator name: (identifier) @binds))
(lambda_expression parameters: (identifier) @binds)
(inferred_parameters (identifier) @binds)
(catch_formal_parameter name: (identifier) @binds.nearest)
(resource name: (identifier) @binds.nearest)
(enhanced_for_statement name: (identifier) @binds.nearest)
(local_variable_declaration declarator: (variable_declarator name: (identifier) @binds.nearest))
(instanceof_expression name: (identifier) @binds.nearest)
(field_declaration declarator: (variable_declarator name: (identifier) @binds.class))
(constant_declaration declarator: (variable_declarator name: (identifier) @binds.class))
(enum_constant name: (identifier) @binds.class)
(type_parameter (type_identifier) @binds)

; Names that are looked up in something else, and labels.
(field_access object: (_) @owner field: (identifier) @member)
(method_invocation object: (_) @owner name: (identifier) @member)
(method_reference . (_) @owner (identifier) @member .)
(scoped_type_identifier (_) @owner (type_identifier) @member .)
(element_value_pair key: (identifier) @member)
(labeled_statement . (identifier) @label)
(break_statement (identifier) @label)
(continue_statement (identifier) @label)

; Declared types.
(formal_parameter type: (type_identifier) @type name: (identifier) @typed)
(local_variable_declaration type: (type_identifier) @type declarator: (variable_declarator name: (identifier) @typed))
(field_declaration type: (type_identifier) @type declarator: (variable_declarator name: (identifier) @typed))
(enhanced_for_statement type: (type_identifier) @type name: (identifier) @typed)
