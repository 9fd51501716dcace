"""The training corpus: permissive source code from public registries, filtered, with a manifest."""
