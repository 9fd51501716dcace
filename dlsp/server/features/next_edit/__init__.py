"""Next edits: the places that the last edit should be carried on to. The interface is in docs/server-protocol.md."""
