"""A GPU that is there for half an hour: the step checked and measured (README.md), and training (docs/notes/gpu.md)."""
