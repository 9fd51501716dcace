"""How good the fills are: `python -m bench.quality` over the sets of HumanEval-Infilling."""
