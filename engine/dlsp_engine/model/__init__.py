"""The Qwen2 family: weights converted from GGUF, the forward pass over clean and canvas rows, the canvas adapter."""
