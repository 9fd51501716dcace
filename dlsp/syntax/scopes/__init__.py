"""What a name means at a place of a document, by syntax alone: in which scope it is bound, and whose member it is.

A language is described by a tree-sitter query, `queries/<grammar>.scm`; nothing else here knows a node type. Languages
without a query have no scopes. The captures:

| capture | the node |
|---|---|
| `@scope.module`, `.class`, `.function`, `.loop`, `.block` | opens a scope; `@name` in the same pattern is its name |
| `@outside` | is part of a scope's node but looked up around the scope, such as a function's name or return type |
| `@binds` | a name bound here, in the nearest module, class or function |
| `@binds.nearest` | the same, in the nearest scope of any kind |
| `@binds.class` | the same, in the nearest class: a method or field |
| `@nearest` | inside it, `@binds` means `@binds.nearest` |
| `@renewed` | inside it, a bound name is a new one, from the end of the `@statement` on (a `let` of Rust) |
| `@assigned` | inside it, nothing is bound (an assignment where names are declared) |
| `@statement` | the names it binds exist from its end on, where the language is `ordered` |
| `@further` | a name of this scope that is bound further out (`global`, `nonlocal`) |
| `@member` | a name looked up in something else: in `@owner`, if the pattern has one |
| `@keyword` | an argument's name in the call of `@owner` |
| `@path` | a part of a module's name in an import |
| `@label` | a label or the like, never the same as another name |
| `@alias` | if it is imported: a name that the importing file chose |
| `@default` | and stands for what the module exports as a whole |
| `@shorthand` | a name that is a variable and a key at once, as in `{name}` |
| `@exported` | a name that other files use, also as a string; with `list`, only where `@list` is it (`__all__`) |
| `@quoted` | a string that is a name, if it is nothing but one (an annotation in quotes) |
| `@typed` | a variable that is declared to be a `@type`, or made by calling one |
| `@method` | a method outside of its class: `@of` is the class |

Settings of a `@scope.module`: `closed`, functions do not see the names of the class around them; `ordered`, in
functions and blocks a name exists only after it was declared.
"""
