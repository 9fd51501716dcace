"""dlsp: a language server for code completion by a diffusion code model."""

__version__ = "0.1.0"
