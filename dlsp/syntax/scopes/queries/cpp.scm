; inherits: c

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
