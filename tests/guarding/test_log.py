"""What the guard's log says of a failure that nobody thought of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from lessor.domain.guarding import Roll
from lessor.domain.request import Place
from lessor.logs import log_without_values
from tests.guarding.scene import Scene

TOKEN = "eyJhbGciOiJSUzI1NiJ9"


@pytest.fixture
def plain() -> Iterator[None]:
    before = structlog.get_config()
    # Commands that other tests run leave a logger behind that says nothing.
    structlog.reset_defaults()
    log_without_values()
    yield
    structlog.configure(**before)


@pytest.mark.usefixtures("plain")
async def test_it_says_where_and_shows_no_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(tmp_path)

    def dated(place: Place) -> Roll:
        headers = {"authorization": f"Bearer {TOKEN}"}
        raise RuntimeError(f"{place} answered {len(headers)} thing that nobody knows")

    scene.grounds.dated = dated  # type: ignore[method-assign]
    await scene.look()
    said = "".join(capsys.readouterr())
    assert "nobody knows" in said
    assert "in dated" in said
    assert TOKEN not in said
