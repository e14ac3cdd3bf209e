#!/usr/bin/env python3
"""Tells Prometheus what only the machine itself knows: who typed something lately, and what holds each GPU.

Needs Python 3.8 and nothing else, and answers at /metrics. What cannot be read is left out, never told as 0. It reads
/proc, the times of terminals, nvidia-smi, and the state of Jupyter's kernels; it keeps nothing and sends nothing.
"""

import argparse
import glob
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 9401
EVERY = 15.0
"""Seconds between two looks, over which processor, network and disk are told."""
RECENT = 300.0
"""Somebody is there who typed something in so many seconds; an open terminal alone is nobody."""
SECTOR = 512
PATIENCE = 5.0
VIRTUAL = ("lo", "veth", "docker", "br-", "cni", "flannel", "cali", "virbr", "tunl", "lxc")
GONE = ("Z", "X", "D")
"""Processes that are dead or hang in the kernel: they hold a GPU, and nobody works with it."""


class Machine:
    """The machine whose files lie under `root`."""

    def __init__(self, root="/", smi="nvidia-smi", clock=time.time):
        self.root = root
        self.smi = smi
        self.clock = clock
        self.started = clock()
        self.before = {}

    def figures(self):
        """`(name, labels, value)` of everything that can be read now."""
        yield "process_start_time_seconds", {}, self.started
        for name, read in (
            ("lessor_host_sessions", self.sessions),
            ("lessor_host_kernels", self.kernels),
            ("lessor_host_cpu_percent", self.cpu),
            ("lessor_host_network_bytes_per_second", self.network),
            ("lessor_host_disk_bytes_per_second", self.disk),
        ):
            value = attempt(read)
            if value is not None:
                yield name, {}, value
        for labels, value in attempt(self.gpu_processes) or ():
            yield "lessor_host_gpu_processes", labels, value

    def sessions(self):
        """Terminals in which something was typed lately: reading a terminal moves its time of access."""
        now = self.clock()
        found = [os.stat(path) for path in glob.glob(self.path("dev/pts/[0-9]*"))]
        return sum(1 for one in found if now - one.st_atime <= RECENT)

    def kernels(self):
        """Kernels of Jupyter that compute; None where no Jupyter runs, or one does not answer."""
        busy = None
        for file in self.runtime_files():
            with open(file, encoding="utf-8") as opened:
                server = json.load(opened)
            if os.path.exists(self.path("proc", str(int(server["pid"])))):
                busy = (busy or 0) + busy_kernels(server)
        return busy

    def runtime_files(self):
        """What running Jupyter servers write of themselves, in everybody's home."""
        places = ("root", "home/*")
        names = ("jpserver-*.json", "nbserver-*.json")
        found = [
            path
            for place in places
            for name in names
            for path in glob.glob(self.path(place, ".local/share/jupyter/runtime", name))
        ]
        return [path for path in found if not path.endswith("-open.json")]

    def cpu(self):
        """The share of time in which processors worked since the last look, in percent."""
        with open(self.path("proc/stat"), encoding="ascii") as opened:
            times = [int(part) for part in opened.readline().split()[1:9]]
        idle = times[3] + times[4]
        moved = self.moved("cpu", (sum(times), idle))
        if moved is None or moved[0] <= 0:
            return None
        return round(100.0 * (1.0 - moved[1] / moved[0]), 2)

    def network(self):
        """Bytes a second, in and out, of the interfaces that lead out of the machine."""
        total = 0
        with open(self.path("proc/net/dev"), encoding="ascii") as opened:
            for line in opened.readlines()[2:]:
                name, _, rest = line.partition(":")
                if not name.strip().startswith(VIRTUAL):
                    fields = rest.split()
                    total += int(fields[0]) + int(fields[8])
        return self.rate("network", total)

    def disk(self):
        """Bytes a second, read and written, of whole disks."""
        disks = [name for name in os.listdir(self.path("sys/block")) if not name.startswith(("loop", "ram", "dm-"))]
        total = 0
        with open(self.path("proc/diskstats"), encoding="ascii") as opened:
            for line in opened:
                fields = line.split()
                if fields[2] in disks:
                    total += (int(fields[5]) + int(fields[9])) * SECTOR
        return self.rate("disk", total)

    def gpu_processes(self):
        """`(labels, how many)` living processes hold each GPU; a GPU in slices is left out, for they cannot be told."""
        cards = self.ask_smi("--query-gpu=index,uuid,mig.mode.current")
        held = self.ask_smi("--query-compute-apps=gpu_uuid,pid")
        holders = {}
        for uuid, pid in held:
            if self.lives(pid):
                holders.setdefault(uuid, set()).add(pid)
        return [
            ({"gpu": index, "UUID": uuid}, len(holders.get(uuid, ()))) for index, uuid, mig in cards if mig != "Enabled"
        ]

    def lives(self, pid):
        try:
            with open(self.path("proc", pid, "stat"), encoding="utf-8", errors="replace") as opened:
                state = opened.read().rpartition(")")[2].split()[0]
        except OSError:
            return False
        return state not in GONE

    def ask_smi(self, query):
        program = shutil.which(self.smi)
        if program is None:
            raise OSError("no nvidia-smi")
        command = [program, query, "--format=csv,noheader,nounits"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
        return [[part.strip() for part in line.split(",")] for line in said.splitlines() if line.strip()]

    def rate(self, name, total):
        """How much a second since the last look; None for the first look and after a counter began anew."""
        moved = self.moved(name, (self.clock(), total))
        if moved is None or moved[0] <= 0 or moved[1] < 0:
            return None
        return round(moved[1] / moved[0], 1)

    def moved(self, name, now):
        before = self.before.get(name)
        self.before[name] = now
        return None if before is None else tuple(new - old for new, old in zip(now, before))

    def path(self, *parts):
        return os.path.join(self.root, *parts)


def busy_kernels(server):
    """How many kernels of a Jupyter server compute, asked on this machine whatever address its file names."""
    scheme = "https" if server.get("secure") else "http"
    # Asking must not look like work to Jupyter itself, which may shut down what nobody uses.
    path = server.get("base_url", "/").rstrip("/") + "/api/kernels?no_track_activity=1"
    url = f"{scheme}://127.0.0.1:{int(server['port'])}{path}"
    request = urllib.request.Request(url, headers={"Authorization": "token " + server.get("token", "")})
    own = ssl.create_default_context()
    own.check_hostname, own.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(request, timeout=PATIENCE, context=own) as answer:
        return sum(1 for one in json.load(answer) if one.get("execution_state") == "busy")


def attempt(read):
    """What `read` gives; None when it cannot, said once on the log for each reason."""
    try:
        return read()
    except Exception as error:
        reason = f"{read.__name__}: {type(error).__name__}"
        if reason not in SAID:
            SAID.add(reason)
            say("cannot read " + reason)
        return None


def say(what):
    sys.stderr.write(f"lessor-host-exporter: {what}\n")
    sys.stderr.flush()


SAID = set()


def page(machine, node, lease):
    """Everything in the text format of Prometheus, each with the name of the host and the lease."""
    common = {"Hostname": node}
    if lease:
        common["lessor_lease"] = lease
    lines = []
    for name, labels, value in machine.figures():
        inside = ",".join(f'{key}="{escaped(text)}"' for key, text in {**labels, **common}.items())
        lines.append(name + "{" + inside + "} " + str(value))
    return "\n".join(lines) + "\n"


def escaped(text):
    return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def lease_of(path):
    """The lease that the machine was launched for, as its first start wrote it down."""
    try:
        with open(path, encoding="utf-8") as opened:
            said = dict(line.strip().partition("=")[::2] for line in opened)
    except OSError:
        return ""
    return said.get("lease", "")


class Latest:
    """The page of the latest look, for as many scrapes as there are; none when looking hangs, as nvidia-smi may."""

    def __init__(self, render, every):
        self.render = render
        self.every = every
        self.looked = 0.0
        self.text = ""

    def look_for_ever(self):
        while True:
            self.text = self.render()
            self.looked = time.monotonic()
            time.sleep(self.every)

    def page(self):
        late = time.monotonic() - self.looked > 4 * self.every + 2 * PATIENCE
        return "" if late else self.text


def serve(latest, address, port):
    """Answer at /metrics until the process ends."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            found = self.path.split("?")[0] == "/metrics"
            body = latest.page().encode() if found else b""
            self.send_response(404 if not found else 200 if body else 503)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer((address, port), Page)
    say(f"listening on port {server.server_port}")
    server.serve_forever()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", default="127.0.0.1", help="the address to answer on")
    parser.add_argument("--port", type=int, default=PORT, help="the port to answer on; 0 for a free one")
    parser.add_argument("--every", type=float, default=EVERY, help="seconds between two looks")
    parser.add_argument("--lease-file", default="/etc/lessor/lease", help="where the first start wrote the lease down")
    parser.add_argument("--root", default="/", help=argparse.SUPPRESS)
    parser.add_argument("--nvidia-smi", default="nvidia-smi", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    machine = Machine(asked.root, asked.nvidia_smi)
    node, lease = socket.gethostname(), lease_of(asked.lease_file)
    latest = Latest(lambda: page(machine, node, lease), asked.every)
    threading.Thread(target=latest.look_for_ever, daemon=True).start()
    serve(latest, asked.listen, asked.port)


if __name__ == "__main__":
    main()
