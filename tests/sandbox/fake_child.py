"""A child for the supervisor's tests: does what its arguments say, so that the tests need no real servers.

fake_child.py READY_FILE [--say TEXT] [--exit CODE] [--deaf] [--litter PID_FILE] [--environment FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("ready", type=Path)
    parser.add_argument("--say", default="")
    parser.add_argument("--exit", type=int)
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--litter", type=Path)
    parser.add_argument("--environment", type=Path)
    options = parser.parse_args()
    if options.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.litter:
        litter = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        options.litter.write_text(str(litter.pid))
    if options.environment:
        options.environment.write_text(json.dumps(dict(os.environ)))
    if options.say:
        sys.stdout.write(f"{options.say}\n")
        sys.stdout.flush()
    if options.exit is not None:
        sys.exit(options.exit)
    options.ready.write_text(str(os.getpid()))
    time.sleep(60)


if __name__ == "__main__":
    main()
