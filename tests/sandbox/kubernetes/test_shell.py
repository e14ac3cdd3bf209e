"""The shell that a simulated container has: what it answers, at a terminal and from a pipe, and how it ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lessor.sandbox.kubernetes.inside.containers import Inside
from lessor.sandbox.kubernetes.inside.shell import Session

A100 = Inside(
    namespace="gpu-7k3qxa2m",
    pod="workspace-0",
    container="workspace",
    image="registry.example.com/notebook:1",
    node="gpu-a100-1",
    directory="/work",
    devices={"nvidia.com/gpu": 2},
    products={"nvidia.com/": "NVIDIA-A100-SXM4-80GB"},
    memory="81920",
    environment={"TEAM": "research"},
    ports=(8888,),
)
PROMPT = b"simulated@workspace-0:/work$ "
ABOUT = "This container is simulated: nothing runs in it, and what is written here is kept nowhere."


def session(*command: str, inside: Inside = A100, tty: bool = False) -> Session:
    return Session(inside, command, lambda: datetime(2026, 11, 28, 12, tzinfo=UTC), tty=tty)


def ran(*command: str, inside: Inside = A100) -> tuple[str, str, int | None]:
    """What one command wrote to its two streams, and how it ended."""
    begun = session(*command, inside=inside)
    written = list(begun.begin())
    out, err = (b"".join(data for at, data in written if at == stream).decode() for stream in (1, 2))
    return out, err, begun.ended


def typed(at: Session, keys: bytes) -> bytes:
    return b"".join(data for _, data in at.typed(keys))


@pytest.mark.parametrize(
    ("command", "out"),
    [
        (("hostname",), "workspace-0\n"),
        (("pwd",), "/work\n"),
        (("ls",), "SIMULATED.txt\n"),
        (("/bin/ls", "-l", "/work"), "SIMULATED.txt\n"),
        (("whoami",), "simulated\n"),
        (("date",), "Sat Nov 28 12:00:00 UTC 2026\n"),
        (("env",), "HOSTNAME=workspace-0\nPWD=/work\nTEAM=research\n"),
        (("nvidia-smi", "-L"), "GPU 0: NVIDIA-A100-SXM4-80GB (simulated)\nGPU 1: NVIDIA-A100-SXM4-80GB (simulated)\n"),
        (("cat", "SIMULATED.txt"), f"{ABOUT}\nIn a real cluster this is a shell in the image {A100.image}.\n"),
    ],
)
def test_a_command_is_answered(command: tuple[str, ...], out: str) -> None:
    assert ran(*command) == (out, "", 0)


def test_the_gpus_are_drawn_and_said_to_be_simulated() -> None:
    out, _, code = ran("nvidia-smi")
    assert code == 0
    assert [" ".join(line.split()) for line in out.splitlines() if not line.startswith("+")] == [
        "| NVIDIA-SMI (simulated: nothing is measured, and nothing runs) |",
        "| 0 NVIDIA-A100-SXM4-80GB 81920 MiB |",
        "| 1 NVIDIA-A100-SXM4-80GB 81920 MiB |",
    ]
    assert {len(line) for line in out.splitlines()} == {74}


def test_tools_are_there_for_the_gpus_that_are() -> None:
    cut = Inside("a", "p", "c", "i", "n", devices={"nvidia.com/mig-1g.10gb": 1}, products=dict(A100.products))
    amd = Inside("a", "p", "c", "i", "n", devices={"amd.com/gpu": 1}, products={"amd.com/": "MI300X"})
    assert ran("nvidia-smi", "-L", inside=cut)[0] == "GPU 0: NVIDIA-A100-SXM4-80GB MIG 1g.10gb (simulated)\n"
    assert "|   0  MI300X " in ran("rocm-smi", inside=amd)[0]
    assert ran("nvidia-smi", inside=amd)[2] == 127
    assert ran("nvidia-smi", inside=Inside("a", "p", "c", "i", "n"))[2] == 127


def test_what_there_is_not_says_what_there_is() -> None:
    out, err, code = ran("python", "train.py")
    has = "cat, date, echo, env, false, help, hostname, ls, nvidia-smi, pwd, true, whoami"
    assert (out, code) == ("", 127)
    assert err == f"python: not found. This container is simulated and has only: {has}\n"
    assert ran("cat", "data") == ("", "cat: data: No such file or directory\n", 1)
    assert ran("ls", "/data") == ("", "ls: /data: No such file or directory\n", 2)
    assert ran("nvidia-smi", "--query-gpu=name")[1:] == (
        "nvidia-smi --query-gpu=name: simulated, and knows nothing but -L\n",
        2,
    )


@pytest.mark.parametrize(
    ("script", "out", "err", "code"),
    [
        ("hostname; pwd", "workspace-0\n/work\n", "", 0),
        ("false && pwd; echo $?", "1\n", "", 0),
        ("false || echo 'a  b'", "a  b\n", "", 0),
        ("true || pwd", "", "", 0),
        ("echo a\nexit 3\necho b", "a\n", "", 3),
        ("false; exit", "", "", 1),
        ("", "", "", 0),
        ("ls | cat", "", "sh: pipes, redirections and jobs are not simulated\n", 2),
        ("echo a > b", "", "sh: pipes, redirections and jobs are not simulated\n", 2),
        ("echo 'a", "", "sh: No closing quotation\n", 2),
    ],
)
def test_a_script_is_run_command_by_command(script: str, out: str, err: str, code: int) -> None:
    assert ran("sh", "-c", script) == (out, err, code)


def test_lines_from_a_pipe_are_run_without_any_echo() -> None:
    piped = session("sh")
    assert list(piped.begin()) == []
    assert typed(piped, b"host") == b""
    assert typed(piped, b"name\nls") == b"workspace-0\n"
    assert piped.ended is None
    assert list(piped.closed()) == [(1, b"SIMULATED.txt\n")]
    assert piped.ended == 0


def test_a_terminal_shows_what_is_typed_and_takes_it_back() -> None:
    terminal = session("sh", tty=True)
    begun = b"".join(data for _, data in terminal.begin())
    assert begun.startswith(ABOUT.encode() + b"\r\n")
    assert begun.endswith(b"Type help for what it can do, exit to leave.\r\n" + PROMPT)
    assert typed(terminal, b"pwx\x7fd\r") == b"pwx\b \bd\r\n/work\r\n" + PROMPT
    assert typed(terminal, b"nothing\x03") == b"nothing^C\r\n" + PROMPT
    assert typed(terminal, b"foo\r").startswith(b"foo\r\nfoo: not found.")
    assert typed(terminal, b"\x7fexit 4\r") == b"exit 4\r\n"
    assert terminal.ended == 4
    assert typed(terminal, b"pwd\r") == b""


def test_a_terminal_ends_at_the_end_of_what_is_typed() -> None:
    terminal = session("bash", tty=True)
    list(terminal.begin())
    assert typed(terminal, b"a\x04") == b"a"
    assert typed(terminal, b"\x7f\x04") == b"\b \bexit\r\n"
    assert terminal.ended == 0
