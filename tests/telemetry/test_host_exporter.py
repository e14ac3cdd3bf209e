"""The exporter that machines run themselves: what it reads of them, and what it leaves out because it cannot know."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lessor.providers.aws.image import LARGEST_USER_DATA
from lessor.rendering import Renderer
from tests.telemetry.server import eventually

PROGRAM = Path(__file__).parents[2] / "templates" / "aws" / "lessor-host-exporter.py"
CARDS = "0, GPU-a, Disabled\n1, GPU-b, Disabled\n2, GPU-c, Enabled\n"


@pytest.fixture(scope="module")
def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lessor_host_exporter", PROGRAM)
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Root:
    """The files of a made-up machine, and the exporter's view of it."""

    def __init__(self, path: Path, module: ModuleType) -> None:
        self.path = path
        self.now = 1_000_000.0
        self.machine = module.Machine(str(path), str(path / "nvidia-smi"), lambda: self.now)
        (path / "sys" / "block").mkdir(parents=True)
        for disk in ("nvme0n1", "loop0"):
            (path / "sys" / "block" / disk).mkdir()

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def smi(self, apps: str, cards: str = CARDS) -> None:
        script = f"#!/bin/sh\ncase $1 in *query-gpu*) printf '{cards}';; *) printf '{apps}';; esac\n"
        self.write("nvidia-smi", script.replace("\n1,", "\\n1,").replace("\n2,", "\\n2,")).chmod(0o755)

    def process(self, pid: int, state: str) -> None:
        self.write(f"proc/{pid}/stat", f"{pid} (py thon) {state} 1 1")

    def figures(self) -> dict[str, float]:
        return {name: value for name, labels, value in self.machine.figures() if not labels}

    def holders(self) -> dict[str, int]:
        return {labels["UUID"]: value for name, labels, value in self.machine.figures() if "UUID" in labels}


@pytest.fixture
def root(tmp_path: Path, module: ModuleType) -> Root:
    return Root(tmp_path, module)


def test_nothing_that_cannot_be_read_is_told(root: Root) -> None:
    assert sorted(root.figures()) == ["lessor_host_sessions", "process_start_time_seconds"]
    assert root.holders() == {}


def test_a_terminal_counts_while_somebody_types(root: Root) -> None:
    for number, ago in enumerate((10.0, 299.0, 301.0)):
        os.utime(root.write(f"dev/pts/{number}", ""), (root.now - ago, root.now))
    root.write("dev/pts/ptmx", "")

    assert root.figures()["lessor_host_sessions"] == 2


def test_processor_network_and_disk_are_told_over_the_time_since_the_last_look(root: Root) -> None:
    def look(cpu: str, sent: int, sectors: int) -> dict[str, float]:
        root.write("proc/stat", f"cpu  {cpu}\n")
        lines = [f"{name}: {sent} 0 0 0 0 0 0 0 {sent} 0" for name in ("ens5", "lo", "docker0")]
        root.write("proc/net/dev", "\n".join(["head", "head", *lines]))
        disks = [f"259 0 {name} 1 0 {sectors} 0 1 0 {sectors} 0" for name in ("nvme0n1", "nvme0n1p1", "loop0")]
        root.write("proc/diskstats", "\n".join(disks))
        return root.figures()

    first = look("100 0 100 800 0 0 0 0", 1_000, 10)
    root.now += 10.0
    second = look("160 0 115 820 5 0 0 0", 6_000, 110)
    root.now += 10.0
    anew = look("160 0 115 920 5 0 0 0", 0, 0)

    assert not {"lessor_host_cpu_percent", "lessor_host_network_bytes_per_second"} & set(first)
    assert second["lessor_host_cpu_percent"] == 75.0
    assert second["lessor_host_network_bytes_per_second"] == 1_000.0
    assert second["lessor_host_disk_bytes_per_second"] == 10_240.0
    assert anew["lessor_host_cpu_percent"] == 0.0
    assert "lessor_host_network_bytes_per_second" not in anew


def test_only_living_processes_hold_a_gpu_and_cards_in_slices_are_left_out(root: Root) -> None:
    """Case E07: a process that hangs in the kernel for ever holds a card that nobody works with."""
    root.smi("GPU-a, 11\\nGPU-a, 12\\nGPU-a, 13\\nGPU-c, 11\\n")
    root.process(11, "S")
    root.process(12, "D")

    assert root.holders() == {"GPU-a": 1, "GPU-b": 0}


def test_without_an_answer_of_nvidia_smi_no_gpu_is_told(root: Root) -> None:
    root.write("nvidia-smi", "#!/bin/sh\nexit 9\n").chmod(0o755)

    assert root.holders() == {}


def test_kernels_count_while_they_compute(root: Root) -> None:
    root.process(77, "S")
    with jupyter([{"execution_state": "busy"}, {"execution_state": "idle"}]) as server:
        runtime = {"port": server.server_port, "base_url": "/user/", "token": "hush", "pid": 77, "url": "http://other/"}
        root.write("home/requester/.local/share/jupyter/runtime/jpserver-77.json", json.dumps(runtime))
        root.write("root/.local/share/jupyter/runtime/jpserver-78.json", json.dumps({**runtime, "pid": 78}))
        root.write("root/.local/share/jupyter/runtime/jpserver-77-open.html", "")

        assert root.figures()["lessor_host_kernels"] == 1


def test_kernels_are_unknown_when_their_server_does_not_answer(root: Root) -> None:
    root.process(77, "S")
    with jupyter([]) as server:
        port = server.server_port
    root.write("root/.local/share/jupyter/runtime/jpserver-77.json", json.dumps({"port": port, "pid": 77}))

    assert "lessor_host_kernels" not in root.figures()


def test_the_program_answers_with_the_lease_of_its_machine(tmp_path: Path) -> None:
    (tmp_path / "lease").write_text("lease=gpu-7k3qxa2m\nowner=U0REQUESTER\n")
    command = [sys.executable, PROGRAM, "--port", "0", "--every", "0.1", "--lease-file", tmp_path / "lease"]
    with subprocess.Popen([*command, "--root", tmp_path], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            port = next(line for line in process.stderr if "listening on port" in line).split()[-1]
            page = eventually(lambda: _page(f"http://127.0.0.1:{port}/metrics"))
        finally:
            process.terminate()

    assert 'lessor_host_sessions{Hostname="' in page
    assert ',lessor_lease="gpu-7k3qxa2m"} 0\n' in page


def test_a_machine_that_is_to_be_metered_installs_it_at_its_first_start(tmp_path: Path) -> None:
    facts = {"lease_id": "gpu-7k3qxa2m", "owner": "U0REQUESTER", "team": "research", "region": "us-east-1"}

    text = Renderer("aws").render("user-data-metered.sh.j2", **facts)

    assert text.startswith(Renderer("aws").render("user-data.sh.j2", **facts))
    assert text.partition("<<'EXPORTER'\n")[2].partition("\nEXPORTER\n")[0].rstrip() == PROGRAM.read_text().rstrip()
    assert len(text.encode()) < LARGEST_USER_DATA
    (tmp_path / "user-data.sh").write_text(text)
    subprocess.run(["/bin/sh", "-n", tmp_path / "user-data.sh"], check=True)


def _page(url: str) -> str:
    """The page; empty before the first look."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        error.close()
        return ""


@contextmanager
def jupyter(kernels: list[dict[str, Any]]) -> Iterator[ThreadingHTTPServer]:
    """A Jupyter server with these kernels, which knows one token."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            right = self.path == "/user/api/kernels?no_track_activity=1"
            known = right and self.headers["Authorization"] == "token hush"
            body = json.dumps(kernels).encode()
            self.send_response(200 if known else 403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on the terminal of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
