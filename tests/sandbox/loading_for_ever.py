"""A program that never gets to the end of what it loads."""

import sys
import time

sys.stderr.write("loading\n")
sys.stderr.flush()
while True:
    time.sleep(1)
