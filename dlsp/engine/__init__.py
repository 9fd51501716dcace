"""The client's side of the engine: find it, start it, send requests. Never imports torch."""
