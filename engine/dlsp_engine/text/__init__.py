"""Text to tokens and back: tokenizers, the fill-in-the-middle prompt, token healing."""
