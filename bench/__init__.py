"""Measurements. Every bench writes one file of numbers under `bench/results` by way of `bench.results`."""

import os

# Engines that benches start have nothing prefilled, whatever was asked before, and save no prompts.
os.environ["DLSP_PROMPT_CACHE_MB"] = "0"
