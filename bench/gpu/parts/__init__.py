"""The parts of `python -m bench.gpu`: each runs in a process of its own, and returns samples with a `name`."""
