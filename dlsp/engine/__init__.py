"""The client's side of the engine: find it, start it, ask it. Never imports torch."""
