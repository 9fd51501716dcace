"""Ranking of sites: fitted weights, the model's judgement, and the proposals."""
