"""`dlsp doctor`: what there is on this machine, what works, and what to do where it does not."""
