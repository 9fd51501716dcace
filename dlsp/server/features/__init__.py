"""One file a feature: LSP parameters in, a call of the domain, an LSP result out."""
