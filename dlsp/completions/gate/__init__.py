"""When not to ask the engine, and when not to show what it wrote.

`features` are numbers about the cursor and the engine's tokens; `calibration` turns them into the probability that a
suggestion is right (its first line is what comes next); `gate` decides by it; `learning` shifts it by what becomes of
suggestions on this machine.
"""
