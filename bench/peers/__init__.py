"""Our engine in each of its modes against llama.cpp and transformers: same prompts, same threads, in one run."""
