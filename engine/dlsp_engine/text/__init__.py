"""Turns text into tokens and back: tokenizers, the fill-in-the-middle prompt, token healing."""
