"""What seems to happen inside of pods: their log, a small shell, and a page on each of their ports.

Nothing runs there. All of it says so, and answers just what the messages about a lease's access offer to try.
"""
