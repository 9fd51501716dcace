; Scopes.
((translation_unit) @scope.module (#set! ordered))
(function_definition) @scope.function
(declaration declarator: (function_declarator) @scope.function)
(declaration declarator: (pointer_declarator declarator: (function_declarator) @scope.function))
(function_declarator declarator: (identifier) @outside @binds)
(declaration declarator: (function_declarator declarator: (parenthesized_declarator) @outside))
(compound_statement) @scope.block
(for_statement) @scope.loop
(struct_specifier name: (type_identifier) @name @outside @binds) @scope.class
(union_specifier name: (type_identifier) @name @outside @binds) @scope.class
(struct_specifier !name) @scope.class
(union_specifier !name) @scope.class
(enum_specifier name: (type_identifier) @binds)
(type_definition declarator: (type_identifier) @binds)
(enumerator name: (identifier) @binds)

; Parameters and variables.
(parameter_declaration declarator: (identifier) @binds.nearest)
(declaration declarator: (identifier) @binds.nearest)
(init_declarator declarator: (identifier) @binds.nearest)
(pointer_declarator declarator: (identifier) @binds.nearest)
(array_declarator declarator: (identifier) @binds.nearest)
(parenthesized_declarator (identifier) @binds.nearest)
(field_declaration declarator: (field_identifier) @binds.class)
(pointer_declarator declarator: (field_identifier) @binds.class)
(array_declarator declarator: (field_identifier) @binds.class)
(preproc_def name: (identifier) @binds)
(preproc_function_def name: (identifier) @binds)

; Names that are looked up in something else, and labels.
(field_expression argument: (_) @owner field: (field_identifier) @member)
(field_designator (field_identifier) @member)
(statement_identifier) @label

; C++.
(class_specifier name: (type_identifier) @name @outside @binds) @scope.class
(namespace_definition name: (_) @name @outside @binds) @scope.class
(lambda_expression) @scope.function
(field_declaration declarator: (function_declarator) @scope.function)
(function_declarator declarator: (field_identifier) @outside @binds.class)
(function_declarator declarator: (qualified_identifier) @outside)
[(if_statement) (while_statement) (switch_statement) (catch_clause)] @scope.block
(for_range_loop right: (_) @outside) @scope.loop
(for_range_loop declarator: (identifier) @binds.nearest)
(reference_declarator (identifier) @binds.nearest)
(optional_parameter_declaration declarator: (identifier) @binds.nearest)
(structured_binding_declarator (identifier) @binds.nearest)
(alias_declaration name: (type_identifier) @binds)
(using_declaration (qualified_identifier name: (identifier) @binds))
(qualified_identifier scope: (_) @owner name: (identifier) @member)
(qualified_identifier scope: (_) @owner name: (type_identifier) @member)
(field_initializer (field_identifier) @member)

; Declared types.
(parameter_declaration type: (type_identifier) @type declarator: (identifier) @typed)
(parameter_declaration type: (type_identifier) @type declarator: (pointer_declarator declarator: (identifier) @typed))
(parameter_declaration type: (struct_specifier name: (type_identifier) @type) declarator: (pointer_declarator declarator: (identifier) @typed))
(declaration type: (type_identifier) @type declarator: (identifier) @typed)
(declaration type: (type_identifier) @type declarator: (init_declarator declarator: (identifier) @typed))
