; Scopes.
((source_file) @scope.module (#set! closed) (#set! ordered))
(function_declaration name: (identifier) @name @outside @binds) @scope.function
(method_declaration name: (field_identifier) @name @outside @binds.class) @scope.function
(func_literal) @scope.function
(type_spec name: (type_identifier) @name @outside @binds) @scope.class
(block) @scope.block
[(if_statement) (expression_switch_statement) (type_switch_statement) (select_statement)] @scope.block
[(expression_case) (default_case) (type_case) (communication_case)] @scope.block
(for_statement) @scope.loop

; Parameters and variables, which exist from the end of their statement on.
(parameter_declaration name: (identifier) @binds)
(variadic_parameter_declaration name: (identifier) @binds)
(short_var_declaration left: (expression_list (identifier) @binds.nearest)) @statement
(range_clause left: (expression_list (identifier) @binds.nearest)) @statement
(receive_statement left: (expression_list (identifier) @binds.nearest)) @statement
(type_switch_statement alias: (expression_list (identifier) @binds.nearest))
(var_spec name: (identifier) @binds.nearest) @statement
(const_spec name: (identifier) @binds.nearest) @statement
(type_parameter_declaration name: (identifier) @binds)
(field_declaration name: (field_identifier) @binds.class)
(method_elem name: (field_identifier) @binds.class)

; Names that are looked up in something else, and labels.
(selector_expression operand: (_) @owner field: (field_identifier) @member)
(qualified_type package: (_) @owner name: (type_identifier) @member)
(keyed_element key: (literal_element (identifier) @member))
(label_name) @label
(package_clause (package_identifier) @label)

; Declared types.
(parameter_declaration name: (identifier) @typed type: (type_identifier) @type)
(parameter_declaration name: (identifier) @typed type: (pointer_type (type_identifier) @type))
(short_var_declaration left: (expression_list (identifier) @typed) right: (expression_list (composite_literal type: (type_identifier) @type)))
(short_var_declaration left: (expression_list (identifier) @typed) right: (expression_list (unary_expression operand: (composite_literal type: (type_identifier) @type))))
(method_declaration receiver: (parameter_list (parameter_declaration type: [(type_identifier) @of (pointer_type (type_identifier) @of)])) name: (_) @method)
