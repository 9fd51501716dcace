"""Typing replayed through the real language server, beside llama.cpp under llama.vim's policy.

Scripts say what is typed, deleted and moved to in held-out files (`files`) and in edits from real repositories
(`edits`), `pace` when. A `user` plays them to one contender after the other and accepts a suggestion when its first
line is what comes next. Time is virtual: it passes while a contender works, and what is idle of it is skipped, so
that a key that comes while an engine works cancels on a slow machine as on a fast one.
"""
