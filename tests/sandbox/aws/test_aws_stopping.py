"""The simulator stops whole, also while it still thinks about a call whose caller has gone away."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, socket, time
from lessor.sandbox.aws.server import running_aws_simulator

with running_aws_simulator() as simulator:
    simulator.controls.slow_down("DescribeRegions", 60.0)
    host, port = simulator.url.removeprefix("http://").split(":")
    body = b"Action=DescribeRegions&Version=2016-11-15"
    with socket.create_connection((host, int(port))) as caller:
        head = f"POST / HTTP/1.1\\r\\nHost: ec2.us-east-1.amazonaws.com\\r\\nContent-Length: {len(body)}\\r\\n"
        kind = "Content-Type: application/x-www-form-urlencoded\\r\\n"
        caller.sendall(f"{head}{kind}\\r\\n".encode() + body)
        while not simulator.controls.calls("DescribeRegions"):
            time.sleep(0.01)
gc.collect()
"""


def test_a_call_whose_caller_went_away_leaves_no_task_behind() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")
