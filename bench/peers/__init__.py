"""Our engine against llama.cpp on the same GGUF file: same prompts, same threads, gap by gap in one run."""
