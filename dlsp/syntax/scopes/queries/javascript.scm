; inherits: ecma

; Parameters and variables.
(formal_parameters (identifier) @binds)
(field_definition property: (_) @binds.class)

; Names that are looked up in something else, and labels.
(jsx_attribute (property_identifier) @member)
