"""Measurements. Every bench writes one file of numbers under `bench/results` by way of `bench.results`."""
