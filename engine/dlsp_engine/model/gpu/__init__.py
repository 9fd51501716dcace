"""The Qwen2 forward pass on an NVIDIA GPU: Triton kernels, a paged KV cache, one CUDA graph per batch shape."""
