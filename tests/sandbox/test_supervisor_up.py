"""`lessor up` around small programs: what it refuses, what it says, and that nothing outlives it."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from lessor.sandbox import portplan, up
from lessor.sandbox.children import Child
from lessor.sandbox.datadir import DataDirectoryError, claimed
from lessor.sandbox.programs import Sandbox, programs, temporal_program
from tests.processes import alive

FAKE = Path(__file__).with_name("fake_child.py")

PROGRAM = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    sys.path.insert(0, {folder!r})
    from test_supervisor_up import cast
    from lessor.sandbox.up import run
    sys.exit(run({base}, Path({data!r}), cast=cast, json={json}))
    """
)


def cast(sandbox: Sandbox) -> tuple[Child, ...]:
    """Two fakes in place of the real programs; the first does not listen to SIGTERM."""
    return (_fake(sandbox, "deaf", "--deaf"), _fake(sandbox, "plain"))


def _fake(sandbox: Sandbox, name: str, *arguments: str) -> Child:
    ready = sandbox.data.root / f"{name}.ready"
    argv = (sys.executable, str(FAKE), str(ready), *arguments)
    return Child(name, f"the {name} one", argv, {}, lambda _run: ready.exists(), grace=0.2)


@contextmanager
def running(
    data: Path, *, json: bool = False, ready: str = "Ready.", base: int = 0
) -> Iterator[subprocess.Popen[bytes]]:
    base = base or portplan.free().base
    code = PROGRAM.format(folder=str(FAKE.parent), base=base, data=str(data), json=json)
    with (data.parent / "output").open("wb") as output:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=output, stderr=output, start_new_session=True)
        try:
            _until(lambda: ready in (data.parent / "output").read_text())
            yield process
        finally:
            process.kill()
            process.wait()


def test_ctrl_c_stops_every_child_and_exits_0(tmp_path: Path) -> None:
    with running(tmp_path / "data") as process:
        pids = _pids(tmp_path / "data")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not [pid for pid in pids if alive(pid)]
    assert "Everything is stopped." in (tmp_path / "output").read_text()


def test_for_programs_everything_is_one_json_object_a_line(tmp_path: Path) -> None:
    data, base = tmp_path / "data", portplan.free().base
    with running(data, json=True, ready='"event": "up"', base=base) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    lines = [json.loads(line) for line in (tmp_path / "output").read_text().splitlines()]
    seen = [(line["event"], line.get("program")) for line in lines]
    assert seen.pop() == ("down", None)
    assert {*seen[:4]} == {(event, name) for event in ("starting", "ready") for name in ("deaf", "plain")}
    assert seen[4] == ("up", None)
    assert {*seen[5:]} == {("killed", "deaf"), ("stopped", "plain")}
    links = lines[4]["links"]
    assert links["slack"] == f"http://127.0.0.1:{base}"
    assert (links["data"], links["logs"]) == (str(data), str(data / "logs"))
    assert len(links) == 13


def test_for_programs_a_refusal_and_a_failure_are_objects_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(sandbox: Sandbox) -> tuple[Child, ...]:
        return (_fake(sandbox, "bot", "--say", "no token", "--exit", "2"),)

    assert up.run(1, tmp_path, cast=broken, json=True) == 2
    refused = json.loads(capsys.readouterr().out)
    assert (refused["ok"], refused["code"]) == (False, "refused")
    assert refused["message"].startswith("--port-base 1 is out of range")
    assert up.run(portplan.free().base, tmp_path / "data", cast=broken, json=True) == 1
    out, err = capsys.readouterr()
    last = json.loads(out.splitlines()[-1])
    assert (last["ok"], last["code"], err) == (False, "failed", "")
    assert last["message"].startswith("the bot one ended by itself (exit code 2) before it was ready")


def test_children_end_even_when_the_supervisor_is_killed_without_warning(tmp_path: Path) -> None:
    with running(tmp_path / "data") as process:
        pids = _pids(tmp_path / "data")
        assert all(alive(pid) for pid in pids)
        process.kill()
        process.wait(60)
        _until(lambda: not any(alive(pid) for pid in pids))


def test_a_data_directory_in_use_is_refused_by_name_and_holder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as process:
        told = io.StringIO()
        assert up.run(portplan.free().base, data, _plain(told), cast) == 2
    assert told.getvalue() == (
        f"lessor up: the data directory {data} is in use by another sandbox (process {process.pid}); nothing was "
        "started. Stop that one with Ctrl-C in its terminal, or choose another directory with --data\n"
    )
    with claimed(data, up.POLICY) as again:
        assert again.root == data


def test_a_data_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = pytest.raises(DataDirectoryError, match=r"cannot be used \(Not a directory\); nothing was started")
    with refused, claimed(tmp_path / "file" / "data", up.POLICY):
        pass


def test_a_configuration_that_somebody_edited_is_kept(tmp_path: Path) -> None:
    with claimed(tmp_path, up.POLICY) as data:
        assert data.config.exists()
        data.config.write_text("edited: true\n")
    with claimed(tmp_path, up.POLICY) as data:
        assert data.config.read_text() == "edited: true\n"


def test_a_broken_configuration_is_told_before_anything_starts(tmp_path: Path) -> None:
    with claimed(tmp_path, up.POLICY) as data:
        text = data.config.read_text()
        data.config.write_text(text.replace("organisation:", "organization:", 1).replace("quote.", "quotte."))
    told = io.StringIO()
    assert up.run(portplan.free().base, tmp_path, _plain(told), cast) == 2
    *problems, last = told.getvalue().splitlines()
    assert [line for line in problems if not line.startswith("lessor up: lessor.yaml:")] == []
    assert [
        word for word in ("organization: unknown key", "unknown name 'quotte'") if word not in told.getvalue()
    ] == []
    assert last == f"Nothing was started. Mend {tmp_path}/lessor.yaml, then start again."
    assert not [*tmp_path.glob("*.ready"), *data.logs.iterdir()]


def test_busy_ports_are_named_with_their_purpose_and_a_remedy(tmp_path: Path) -> None:
    base = portplan.free().base
    with _listening(base + 1), _listening(base + 3):
        told = io.StringIO()
        assert up.run(base, tmp_path / "data", _plain(told), cast) == 2
        message = told.getvalue()
    start = (
        f"lessor up: ports {base + 1} (Temporal UI), {base + 3} (Temporal server) are in use by another program; "
        "nothing was started. Stop that program, or move all ports: lessor up --port-base "
    )
    assert message.startswith(start)
    proposed, by_make = map(int, message.removeprefix(start).split(", or make up PORT_BASE="))
    assert by_make == proposed
    assert not any(portplan.is_taken(port) for port in portplan.Ports(proposed).purposes)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("base", [0, 1023, 65_530, -5])
def test_a_port_base_out_of_range_is_refused(base: int, tmp_path: Path) -> None:
    told = io.StringIO()
    assert up.run(base, tmp_path, _plain(told), cast) == 2
    assert f"--port-base {base} is out of range; 1024 to 65,526 are allowed; nothing was started" in told.getvalue()


def test_a_child_that_cannot_start_ends_up_with_its_last_words(tmp_path: Path) -> None:
    def broken(sandbox: Sandbox) -> tuple[Child, ...]:
        return (_fake(sandbox, "bot", "--say", "[red]no token[/]", "--exit", "2"),)

    told = io.StringIO()
    assert up.run(portplan.free().base, tmp_path / "data", _plain(told), broken) == 1
    assert "    | [red]no token[/]\n" in told.getvalue()
    log = tmp_path / "data" / "logs" / "bot.log"
    assert told.getvalue().endswith(
        f"lessor up: the bot one ended by itself (exit code 2) before it was ready; its log: {log}; "
        "everything else was stopped\n"
    )


def test_no_program_of_the_sandbox_is_told_the_shell_s_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "SLACK_BOT_TOKEN", "TEMPORAL_API_KEY", "LESSOR_DATABASE_URL"):
        monkeypatch.setenv(name, "from-the-shell")
    with claimed(tmp_path, up.POLICY) as data:
        children = programs(Sandbox(data, portplan.Ports(7410)))
    assert [child.name for child in children] == [
        *("temporal", "aws", "slack", "mail", "gpus", "cluster"),
        *("worker", "bot", "web", "guard"),
    ]
    assert not [c.name for c in children if "from-the-shell" in c.environment.values()]
    assert {c.environment["HOME"] for c in children} == {str(tmp_path / "home")}


def test_all_search_attributes_are_registered_with_their_types(tmp_path: Path) -> None:
    with claimed(tmp_path, up.POLICY) as data:
        temporal = programs(Sandbox(data, portplan.Ports(7410)))[0]
    registered = [word for word in temporal.argv if word.startswith("--search-attribute=")]
    assert {word.removeprefix("--search-attribute=") for word in registered} >= {
        "GpuState=Keyword",
        "GpuOwner=Keyword",
        "GpuTeam=Keyword",
        "GpuProvider=Keyword",
        "GpuModel=Keyword",
        "GpuMarket=Keyword",
        "GpuWorkload=Keyword",
        "GpuCount=Int",
        "GpuHourlyUsd=Double",
        "GpuEnds=Datetime",
        "GpuResources=KeywordList",
    }


def test_the_temporal_server_comes_from_its_wheel() -> None:
    assert os.access(temporal_program(), os.X_OK)


def _plain(told: io.StringIO) -> Console:
    return Console(file=told, highlight=False, width=200)


def _pids(data: Path) -> list[int]:
    return [int((data / f"{name}.ready").read_text()) for name in ("deaf", "plain")]


@contextmanager
def _listening(port: int) -> Iterator[None]:
    with socket.create_server((portplan.HOST, port)):
        yield


def _until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not seen in time"
        time.sleep(0.02)
