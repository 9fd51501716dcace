"""Long use of one language server, to see whether anything grows: `python -m bench.day`.

A person works through a recording of keys, made by chance from a seed: blocks of code are typed again in real files at
a typist's pace, suggestions are taken over, functions are filled, edits carried on, settings changed, files opened,
closed and changed on the disk, and the person thinks and goes away.

- `--hours 24`: against the stub engine, in virtual time. The server is the real process, but its clock is set forward
  by each pause, so that its timers and time-outs come as often as in a day.
- `--hours 8 --real`: against the real engine, in real time, with pauses of over 5 seconds cut to that.

Memory, file descriptors, threads, temporary files and the size of the state folder are sampled. The command fails if
one of them has grown between the second and the last quarter, or if a request was not answered.
"""
