; inherits: typescript

; Names that are looked up in something else.
(jsx_attribute (property_identifier) @member)
