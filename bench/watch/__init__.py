"""Gaps filled before one's eyes: every state of the canvas with its time, recorded from the engine for replay."""
