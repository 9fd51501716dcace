"""Manners: when not to ask the engine, and when not to show what it said.

`facts` are what is cheap to know about a moment, `features` their numbers, `calibration` turns these into the
probability that a suggestion is right (its first line is what comes next), `gate` decides by it, `learning` shifts it
by what becomes of suggestions here.
"""
