"""Executables of the organisation's: no shell, limits on everything, and nothing of them is left behind."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lessor.providers.machines import running
from lessor.providers.machines.running import Ran, run
from tests.processes import alive
from tests.providers.attempts import Stopped

LONG = timedelta(seconds=20)


def quiet() -> None:
    """A beat that is always current."""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code, *arguments)


def ran(
    code: str, request: Any = None, timeout: timedelta = LONG, beat: Callable[[], None] = quiet, *arguments: str
) -> Ran:
    return run(python(code, *arguments), request or {}, timeout, beat)


def test_a_request_goes_in_as_json_and_the_answer_comes_out() -> None:
    found = ran(
        "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data); print('said', file=sys.stderr)",
        {"a": 1},
    )
    assert (found.code, json.loads(found.output), found.words, found.problem) == (0, {"a": 1}, "said", "")


def test_an_exit_code_is_kept() -> None:
    assert ran("import sys; sys.exit(75)").code == 75


@pytest.mark.parametrize("hostile", ["$(touch MARK)", "`touch MARK`", "; touch MARK #", "\n\x00'\"\\", "ünïcode 🎉"])
def test_what_people_write_is_never_read_by_a_shell(hostile: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = hostile.replace("MARK", str(mark))
    found = run(
        python("import sys; print(sys.argv[1:], sys.stdin.read(), end='')", "$(touch x)"),
        {"purpose": text},
        LONG,
        quiet,
    )
    assert found.output.decode() == f"['$(touch x)'] {json.dumps({'purpose': text})}"
    assert not mark.exists()


def test_a_request_larger_than_a_pipe_gets_through_while_much_is_answered() -> None:
    code = "import sys; sys.stdout.write('x' * 300_000); sys.stdout.flush(); print(len(sys.stdin.read()))"
    found = ran(code, {"machines": "y" * 300_000})
    assert found.code == 0
    assert found.output.decode().endswith(f"{300_000 + len(json.dumps({'machines': ''}))}\n")


def test_an_executable_that_does_not_read_its_request_is_no_error() -> None:
    assert ran("", {"machines": "y" * 3_000_000}).code == 0


def test_one_that_hangs_is_ended_in_time_with_all_that_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "open(sys.argv[1], 'w').write(f'{os.getpid()} {child.pid}')\n"
        "print('stuck', file=sys.stderr, flush=True); time.sleep(60)"
    )
    begun = time.monotonic()
    found = ran(code, None, timedelta(seconds=1), quiet, str(note))
    assert (found.code, found.problem) == (None, "it did not end within 1 s")
    assert found.words == "stuck"
    assert time.monotonic() - begun < 10
    assert gone(map(int, note.read_text().split()))


def test_a_child_that_outlives_its_parent_does_not_hold_the_answer_back(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid)); print('done')"
    )
    begun = time.monotonic()
    found = ran(code, None, LONG, quiet, str(note))
    assert (found.code, found.output) == (0, b"done\n")
    assert time.monotonic() - begun < 10
    assert gone([int(note.read_text())])


def test_too_much_output_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "OUTPUT_LIMIT", 1024 * 1024)
    found = ran("import sys\nwhile True: sys.stdout.write('x' * 65536)")
    assert (found.code, found.problem, found.output) == (None, "it wrote more than 1 MiB", b"")


def test_only_the_last_words_are_kept_and_nothing_that_a_terminal_obeys() -> None:
    found = ran("import sys; sys.stderr.write('a' * 100_000 + '\\x1b[31m\\n  the  reason\\x07')")
    assert found.words.endswith("aaa [31m the reason")
    assert len(found.words) == 500


def test_what_cannot_be_started_says_so() -> None:
    found = run(("/no/such/hook",), {}, LONG, quiet)
    assert found == Ran(None, problem="/no/such/hook cannot be started: No such file or directory", started=False)


def test_no_secret_of_ours_is_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")
    monkeypatch.setenv("LESSOR_DATABASE_URL", "postgresql://u:secret@h/d")
    monkeypatch.setenv("LESSOR_HOOK_REALM", "lab")
    found = json.loads(ran("import json, os; print(json.dumps(dict(os.environ)))").output)
    assert found["LESSOR_HOOK_REALM"] == "lab"
    assert found["PATH"] == os.environ["PATH"]
    assert not any("secret" in value for value in found.values())


def test_an_attempt_that_is_not_current_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Case B13: nothing goes on in the name of an attempt that was given up."""
    monkeypatch.setattr(running, "BEAT_SECONDS", 0.2)
    note = tmp_path / "pid"

    def beat() -> None:
        if note.exists() and note.read_text():
            raise Stopped("given up")

    code = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(Stopped):
        ran(code, None, LONG, beat, str(note))
    assert gone([int(note.read_text())])


def gone(pids: Sequence[int] | Any) -> bool:
    """Whether these processes end within a moment."""
    give_up = time.monotonic() + 60
    left = list(pids)
    while left and time.monotonic() < give_up:
        left = [pid for pid in left if alive(pid)]
        time.sleep(0.02)
    return not left
