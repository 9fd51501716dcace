; Scopes.
((source_file) @scope.module (#set! closed) (#set! ordered))
(function_item name: (_) @name @outside @binds) @scope.function
(function_signature_item name: (_) @name @outside @binds) @scope.function
(closure_expression) @scope.function
(impl_item type: (_) @name @outside) @scope.class
(impl_item trait: (_) @outside)
(trait_item name: (_) @name @outside @binds) @scope.class
(struct_item name: (_) @name @outside @binds) @scope.class
(enum_item name: (_) @name @outside @binds) @scope.class
(union_item name: (_) @name @outside @binds) @scope.class
(mod_item name: (_) @name @outside @binds) @scope.class
(type_item name: (_) @binds)
(block) @scope.block
(match_arm) @scope.block
[(if_expression) (while_expression)] @scope.block
(for_expression pattern: (_) @nearest value: (_) @outside) @scope.loop

; Parameters and variables. Each `let` makes a new one, from the end of its statement on.
(parameter pattern: (identifier) @binds)
(closure_parameters (identifier) @binds)
(let_declaration pattern: (_) @renewed) @statement
(let_condition pattern: (_) @nearest) @statement
(let_declaration pattern: (identifier) @binds.nearest)
(for_expression pattern: (identifier) @binds.nearest)
(let_condition pattern: (identifier) @binds.nearest)
(match_pattern . (identifier) @binds.nearest)
(tuple_pattern (identifier) @binds.nearest)
(slice_pattern (identifier) @binds.nearest)
(tuple_struct_pattern type: (_) (identifier) @binds.nearest)
(mut_pattern (identifier) @binds.nearest)
(ref_pattern (identifier) @binds.nearest)
(reference_pattern (identifier) @binds.nearest)
(captured_pattern . (identifier) @binds.nearest)
(or_pattern (identifier) @binds.nearest)
(field_pattern pattern: (identifier) @binds.nearest)
(field_pattern name: (field_identifier) @member)
(field_pattern name: (shorthand_field_identifier) @binds.nearest)
(field_pattern name: (shorthand_field_identifier) @shorthand)
(const_item name: (identifier) @binds)
(static_item name: (identifier) @binds)
(enum_variant name: (identifier) @binds.class)
(field_declaration name: (field_identifier) @binds.class)
(macro_definition name: (identifier) @binds)
(type_parameter name: (type_identifier) @binds)

; Imports.
(use_declaration argument: (identifier) @binds)
(use_declaration argument: (scoped_identifier name: (identifier) @binds))
(use_list (identifier) @binds)
(use_list (scoped_identifier name: (identifier) @binds))
(use_as_clause alias: (identifier) @binds @alias)

; Names that are looked up in something else.
(field_expression value: (_) @owner field: (field_identifier) @member)
(scoped_identifier path: (_) @owner name: (identifier) @member)
(scoped_type_identifier path: (_) @owner name: (type_identifier) @member)
(field_initializer field: (field_identifier) @member)
(shorthand_field_initializer (identifier) @shorthand)

; Declared types.
(parameter pattern: (identifier) @typed type: (type_identifier) @type)
(parameter pattern: (identifier) @typed type: (reference_type type: (type_identifier) @type))
(let_declaration pattern: (identifier) @typed type: (type_identifier) @type)
(let_declaration pattern: (identifier) @typed value: (struct_expression name: (type_identifier) @type))
(let_declaration pattern: (identifier) @typed value: (call_expression function: (scoped_identifier path: (identifier) @type)))
