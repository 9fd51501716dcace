"""A team's server under typists: `python -m bench.team` measures, `python -m bench.team.simulate` predicts."""
