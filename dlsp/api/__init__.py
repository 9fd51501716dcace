"""Other clients' HTTP interfaces ("dialects"), each translated to the engine's requests and back."""
