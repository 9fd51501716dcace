"""Faults in a loop, on the real server and the real engine: every request ends in a suggestion or a reason."""
