"""The step on a GPU: all sessions in one launch each op, captured once a shape, keys and values in pages."""
