"""LSP features, one per file: convert LSP parameters, call the domain, convert the result."""
