"""The engine as a process: HTTP on loopback, a scheduler over steps, a state file that clients find it by."""
