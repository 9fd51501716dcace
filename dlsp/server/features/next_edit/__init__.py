"""Next edits: the sites where the last edit should also happen. The interface is in docs/server-protocol.md."""
