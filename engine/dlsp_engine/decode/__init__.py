"""Decoding: sessions with their KV caches, the three decoding modes, and the rules by which a gap ends."""
