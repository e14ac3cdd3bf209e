"""The process that draws: started when needed, replaced when it ends, never waited for too long."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from lessor.charts import Figures, Frame, figures
from lessor.drawing import Drawer, DrawingError, serve

NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)
SHOWN: Figures = figures(Frame("gpu-7k3qxa2m", NOW - timedelta(hours=1), NOW), ())


def program(folder: Path, body: str) -> tuple[str, ...]:
    """A renderer that does what the test says; `answer` writes one."""
    head = """
    import os, struct, sys, time
    def answer(content, word=b"+"):
        sys.stdout.buffer.write(struct.pack("!cI", word, len(content)) + content)
        sys.stdout.buffer.flush()
    """
    path = folder / "renderer.py"
    path.write_text(textwrap.dedent(head) + textwrap.dedent(body))
    return (sys.executable, str(path))


def until_dead(pid: int) -> None:
    while Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        time.sleep(0.01)


@pytest_asyncio.fixture
async def drawer() -> AsyncIterator[Drawer]:
    made = Drawer()
    yield made
    await made.close()


async def test_it_draws_again_with_the_same_process_and_anew_when_that_is_gone(drawer: Drawer) -> None:
    first = await drawer.png(SHOWN)
    assert first.startswith(b"\x89PNG\r\n\x1a\n")
    assert drawer.pid
    before = drawer.pid
    assert await drawer.png(SHOWN) == first
    assert drawer.pid == before
    os.kill(before, 9)
    await asyncio.to_thread(until_dead, before)
    assert (await drawer.png(SHOWN)).startswith(b"\x89PNG")
    assert drawer.pid != before


async def test_pages_get_what_slack_gets_as_an_image_of_lines(drawer: Drawer) -> None:
    drawn = (await drawer.draw(SHOWN, "svg")).decode()
    assert drawn.startswith("<svg ")
    assert SHOWN["title"] in drawn


async def test_one_that_hangs_is_ended_in_time_and_the_next_chart_is_drawn_by_another(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    command = program(
        tmp_path,
        f"""
        for line in sys.stdin:
            if not os.path.exists({str(seen)!r}):
                open({str(seen)!r}, "w").close()
                time.sleep(60)
            answer(b"drawn")
        """,
    )
    drawer = Drawer(seconds=1, command=command)
    with pytest.raises(DrawingError, match="no chart within 1 s"):
        await drawer.png(SHOWN)
    assert await drawer.png(SHOWN) == b"drawn"
    await drawer.close()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(3)", "the renderer ended"),
        ("sys.stdin.readline(); answer(b'ValueError: no', b'-')", "ValueError: no"),
        ("sys.stdin.readline(); answer(b'x' * 2_000_001)", "2000001 bytes; 2000000 are allowed"),
        ("sys.stdin.readline(); sys.stdout.write('+'); sys.stdout.flush()", "the renderer ended"),
    ],
)
async def test_whatever_it_does_is_an_error_with_words(tmp_path: Path, body: str, words: str) -> None:
    drawer = Drawer(seconds=10, command=program(tmp_path, body))
    with pytest.raises(DrawingError, match=words):
        await drawer.png(SHOWN)
    await drawer.close()


async def test_a_program_that_is_not_there_is_the_same_error() -> None:
    with pytest.raises(DrawingError, match="could not be used"):
        await Drawer(command=("/nowhere/python",)).png(SHOWN)


async def test_it_gets_no_secret_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")
    body = "sys.stdin.readline(); answer(repr(sorted(os.environ)).encode())"
    drawer = Drawer(seconds=10, command=program(tmp_path, body))
    assert b"SLACK" not in await drawer.png(SHOWN)
    await drawer.close()


def test_it_ends_when_nobody_is_there_or_nothing_is_asked_for() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as source, os.fdopen(write, "wb") as asking:
        sink = io.BytesIO()
        serve(source, sink, rest=0.01)
        assert sink.getvalue() == b""
        asking.write(b"not json\n")
        asking.close()
        serve(source, sink)
    told = sink.getvalue()
    assert told[:1] == b"-"
    assert told[5:].startswith(b"JSONDecodeError")


def test_what_it_is_asked_is_json() -> None:
    assert json.loads(json.dumps(SHOWN)) == SHOWN
