"""Remembers which process has loaded it."""

import os

PID = os.getpid()
