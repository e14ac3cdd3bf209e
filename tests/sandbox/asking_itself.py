"""A program that tells what it finds itself to be, on one line, and ends."""

import gc
import json
import os
import signal
import sys
import threading

import psutil

from tests.sandbox import loading

CODE = 7

if __name__ == "__main__":
    told = {
        "argv": sys.argv,
        "called": " ".join(psutil.Process().cmdline()).split(),
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "stdin": sys.stdin.read(),
        "leads its group": os.getpgid(0) == os.getpid(),
        "interrupts": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "others": [signal.getsignal(one) is signal.SIG_DFL for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "collects": gc.isenabled(),
        "threads": threading.active_count(),
        "open": sorted(int(one) for one in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{one}")),
        "name": __name__,
    }
    json.dump({"told": told, "loaded by": loading.PID, "is": os.getpid()}, sys.stdout)
    sys.exit(CODE)
