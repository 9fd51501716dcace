"""`dlsp doctor`: checks what is installed on this machine, what works, and what to do where it does not."""
