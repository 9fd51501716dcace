"""A GPU that is there for half an hour: training on it, and the step checked and measured: docs/notes/gpu.md."""
