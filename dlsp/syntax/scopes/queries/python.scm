; Scopes. A loop's names count as its own; the class of a method is not searched (see `Scopes`).
((module) @scope.module (#set! closed))
(function_definition name: (identifier) @name @outside @binds) @scope.function
(function_definition return_type: (_) @outside)
(class_definition name: (identifier) @name @outside @binds) @scope.class
(class_definition superclasses: (_) @outside)
(lambda) @scope.function
[(list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @scope.function
(for_statement left: (_) @nearest right: (_) @outside) @scope.loop
(default_parameter value: (_) @outside)
(typed_default_parameter value: (_) @outside)
(typed_default_parameter type: (_) @outside)
(typed_parameter type: (_) @outside)

; Parameters.
(parameters (identifier) @binds)
(lambda_parameters (identifier) @binds)
(typed_parameter . (identifier) @binds)
(default_parameter name: (identifier) @binds)
(typed_default_parameter name: (identifier) @binds)
(list_splat_pattern (identifier) @binds)
(dictionary_splat_pattern (identifier) @binds)

; Variables.
(assignment left: (identifier) @binds)
(for_statement left: (identifier) @binds)
(for_in_clause left: (identifier) @binds)
(pattern_list (identifier) @binds)
(tuple_pattern (identifier) @binds)
(list_pattern (identifier) @binds)
(named_expression name: (identifier) @binds)
(as_pattern_target (identifier) @binds)
(case_pattern (dotted_name . (identifier) @binds .))
(global_statement (identifier) @further)
(nonlocal_statement (identifier) @further)

; Imports.
(import_statement name: (dotted_name . (identifier) @binds))
(import_statement name: (aliased_import alias: (identifier) @binds @alias))
(import_from_statement name: (dotted_name . (identifier) @binds))
(import_from_statement name: (aliased_import alias: (identifier) @binds @alias))
(import_from_statement module_name: (dotted_name (identifier) @path))
(import_from_statement module_name: (relative_import (dotted_name (identifier) @path)))
(import_statement name: (dotted_name (_) (identifier) @path))
(import_statement name: (aliased_import name: (dotted_name (identifier) @path)))

; Names that are looked up in something else.
(attribute object: (_) @owner attribute: (identifier) @member)
(call function: (_) @owner arguments: (argument_list (keyword_argument name: (identifier) @keyword)))
(keyword_pattern (identifier) @member)

; Names written as strings.
((assignment left: (identifier) @list right: (_ (string (string_content) @exported))) (#set! list "__all__"))
(type (string (string_content) @quoted))
(type (subscript subscript: (string (string_content) @quoted)))
(type (generic_type (type_parameter (type (string (string_content) @quoted)))))

; Declared types.
(typed_parameter . (identifier) @typed type: (type (identifier) @type))
(typed_parameter . (identifier) @typed type: (type (string (string_content) @type)))
(typed_default_parameter name: (identifier) @typed type: (type (identifier) @type))
(assignment left: (identifier) @typed type: (type (identifier) @type))
(assignment left: (identifier) @typed right: (call function: (identifier) @type))
(with_item value: (as_pattern (call function: (identifier) @type) alias: (as_pattern_target (identifier) @typed)))
