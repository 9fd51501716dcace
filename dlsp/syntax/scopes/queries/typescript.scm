; inherits: ecma

; Parameters and variables.
(required_parameter pattern: (identifier) @binds)
(optional_parameter pattern: (identifier) @binds)
(public_field_definition name: (_) @binds.class)

; Types and what only declares.
(abstract_class_declaration name: (_) @name @outside @binds) @scope.class
(interface_declaration name: (_) @name @outside @binds) @scope.class
(enum_declaration name: (_) @name @outside @binds) @scope.class
(internal_module name: (_) @name @outside @binds) @scope.class
(type_alias_declaration name: (_) @name @outside @binds) @scope.class
(function_signature name: (_) @name @outside @binds) @scope.function
(method_signature name: (_) @name @outside @binds.class) @scope.function
(abstract_method_signature name: (_) @name @outside @binds.class) @scope.function
(property_signature name: (_) @binds.class)
(enum_body name: (property_identifier) @binds.class)
(enum_assignment name: (property_identifier) @binds.class)
(function_type) @scope.function
(construct_signature) @scope.function
(call_signature) @scope.function
(index_signature name: (identifier) @member)
(type_parameter name: (type_identifier) @binds)

; Declared types.
(required_parameter pattern: (identifier) @typed type: (type_annotation (type_identifier) @type))
(required_parameter pattern: (identifier) @typed type: (type_annotation (generic_type name: (type_identifier) @type)))
(variable_declarator name: (identifier) @typed type: (type_annotation (type_identifier) @type))
(variable_declarator name: (identifier) @typed type: (type_annotation (generic_type name: (type_identifier) @type)))
