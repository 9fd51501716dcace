"""Gating: when not to ask the engine, and when not to show its completion.

`features` computes numbers from the cursor and the engine's tokens; `calibration` turns them into the probability that
a suggestion is right (its first line is what comes next); `gate` compares it with thresholds; `learning` shifts it by
the outcomes of suggestions on this machine.
"""
