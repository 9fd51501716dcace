"""Builds the training corpus: permissively licensed source code from public registries, filtered, with a manifest."""
