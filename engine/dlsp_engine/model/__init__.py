"""The Qwen2 family: weights from GGUF, a forward over clean and canvas rows, the canvas adapter."""
