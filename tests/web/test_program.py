"""`python -m lessor.web` as people start it: where it listens, what it needs for that, and how it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from lessor.config import loads
from lessor.web import Scene
from lessor.web.__main__ import main, scene_of
from tests.config.sample import VALID
from tests.web.world import TOKEN


@pytest.fixture
def settled(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a program that is configured."""
    for name in [one for one in os.environ if one.startswith(("SLACK_", "LESSOR_", "TEMPORAL_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "lessor.yaml").write_text(VALID, encoding="utf-8")
    monkeypatch.setenv("LESSOR_CONFIG", str(tmp_path / "lessor.yaml"))
    monkeypatch.setenv("LESSOR_DATABASE_URL", sqlite_url)


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """The program on a free port, and where it says that it is."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "lessor.web", "--port", "0", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert child.stdout
    try:
        async with asyncio.timeout(60):
            line = (await child.stdout.readline()).decode()
        assert line.startswith("lessor dashboard: http://"), line
        yield line.split()[-1].rstrip("/"), child
    finally:
        if child.returncode is None:
            child.kill()
        await child.communicate()


async def test_it_serves_this_machine_and_ends_in_good_order(settled: None) -> None:
    async with running() as (url, child):
        assert url.startswith("http://127.0.0.1:")
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            assert (await client.get("/healthz")).json() == {"ok": True}
            assert "No lease is open" in (await client.get("/")).text
        child.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            _, errors = await child.communicate()
        assert (child.returncode, errors) == (0, b"")


async def test_beyond_this_machine_it_needs_a_token_and_never_shows_it(
    settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSOR_WEB_TOKEN", TOKEN)
    async with running("--host", "0.0.0.0") as (url, child):
        async with httpx.AsyncClient(base_url=url.replace("0.0.0.0", "127.0.0.1"), timeout=30) as client:
            assert (await client.get("/api/leases")).status_code == 401
            right = {"authorization": f"Bearer {TOKEN}"}
            assert (await client.get("/api/leases", headers=right)).json() == {"leases": [], "next": None}
        child.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            told, errors = await child.communicate()
        assert TOKEN.encode() not in told + errors


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "gpu.example.test"])
def test_without_a_token_it_listens_nowhere_else(settled: None, capsys: pytest.CaptureFixture[str], host: str) -> None:
    assert main(["--host", host, "--port", "0"]) == 2
    assert capsys.readouterr().err == (
        f"lessor dashboard: LESSOR_WEB_TOKEN: is not set, and is needed to listen on {host}; it is a secret of 20 "
        "characters or more, without blanks; make one with: openssl rand -base64 30\n"
    )


def test_a_weak_token_is_refused_without_being_shown(
    settled: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSOR_WEB_TOKEN", "hunter2")
    assert main(["--port", "0"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("lessor dashboard: LESSOR_WEB_TOKEN: has a form that does not fit; it is a secret of 20")
    assert "hunter2" not in told


def test_a_port_that_is_taken_is_told_with_what_to_do(settled: None, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port)]) == 2
    told = capsys.readouterr().err
    assert told == (
        f"lessor dashboard: cannot listen on 127.0.0.1:{port} (address already in use); choose others with --host and "
        "--port\n"
    )


@pytest.mark.parametrize("port", ["65536", "-1"])
def test_a_port_that_is_none_is_told(settled: None, capsys: pytest.CaptureFixture[str], port: str) -> None:
    assert main(["--port", port]) == 2
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err


def test_pages_know_the_organisation_from_its_configuration() -> None:
    scene = scene_of(loads(VALID))
    assert isinstance(scene, Scene)
    assert scene.organisation == loads(VALID).organisation.name
    assert dict(scene.teams).keys() == loads(VALID).organisation.teams.keys()
    assert [key for key, _ in scene.places] == [place.name for place in loads(VALID).places]
