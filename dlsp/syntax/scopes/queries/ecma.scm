; What JavaScript and TypeScript share.

; Scopes.
((program) @scope.module (#set! closed))
(function_declaration name: (identifier) @name @outside @binds) @scope.function
(generator_function_declaration name: (identifier) @name @outside @binds) @scope.function
(function_expression) @scope.function
(function_expression name: (identifier) @binds)
(generator_function) @scope.function
(arrow_function) @scope.function
(class_declaration name: (_) @name @outside @binds) @scope.class
(class) @scope.class
(class_body (method_definition name: (_) @name @outside @binds.class) @scope.function)
(object (method_definition name: (_) @outside @member) @scope.function)
(statement_block) @scope.block
(switch_body) @scope.block
(catch_clause) @scope.block
(for_statement) @scope.loop
(for_in_statement right: (_) @outside) @scope.loop

; Parameters and variables.
(arrow_function parameter: (identifier) @binds)
(catch_clause parameter: (identifier) @binds.nearest)
(variable_declaration (variable_declarator name: (identifier) @binds))
(lexical_declaration (variable_declarator name: (identifier) @binds.nearest))
(for_in_statement kind: _ left: (identifier) @binds.nearest)
(shorthand_property_identifier_pattern) @binds.nearest
(shorthand_property_identifier_pattern) @shorthand
(pair_pattern value: (identifier) @binds.nearest)
(array_pattern (identifier) @binds.nearest)
(rest_pattern (identifier) @binds.nearest)
(assignment_pattern left: (identifier) @binds.nearest)
(assignment_expression left: (_) @assigned)

; Imports.
(import_specifier name: (identifier) @binds !alias)
(import_specifier alias: (identifier) @binds @alias)
(import_clause (identifier) @binds @alias @default)
(namespace_import (identifier) @binds @alias)
(variable_declarator name: (identifier) @alias @default)

; Names that are looked up in something else, and labels.
(member_expression object: (_) @owner property: (_) @member)
(pair key: (property_identifier) @member)
(pair_pattern key: (property_identifier) @member)
(shorthand_property_identifier) @shorthand
((assignment_expression left: (_) @list right: (object (shorthand_property_identifier) @exported)) (#set! list "module.exports"))
(statement_identifier) @label

; Declared types.
(variable_declarator name: (identifier) @typed value: (new_expression constructor: (identifier) @type))
