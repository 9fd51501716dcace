"""The engine as a server process: HTTP on a Unix socket or a loopback port, a scheduler that shares steps among
requests, and a state file by which clients find it.
"""
