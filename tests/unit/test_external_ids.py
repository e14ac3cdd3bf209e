"""External ids of other accounts: read from the variable that a place names, and asked for where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import bot.__main__
import workflows.__main__
from lessor.config import load
from lessor.placing import ec2_places, require_external_ids
from lessor.settings import SettingsError

EXAMPLE = Path(__file__).parents[2] / "examples" / "lessor.yaml"
NAME = "LESSOR_RESEARCH_EXTERNAL_ID"
MISSING = f"{NAME}: is not set; it is the external id of the place research-us, as lessor.yaml says"


def test_an_external_id_is_read_from_the_variable_that_the_place_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "shared-secret-7")
    config = load(EXAMPLE)
    require_external_ids(config)
    place = ec2_places(config)["research-us"]
    assert (place.external_id, place.external_id_env) == ("shared-secret-7", NAME)


def test_without_it_places_can_still_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    config = load(EXAMPLE)
    assert ec2_places(config)["research-us"].external_id == ""
    with pytest.raises(SettingsError) as caught:
        require_external_ids(config)
    assert str(caught.value) == MISSING


@pytest.mark.parametrize(
    ("main", "name"),
    [
        (lambda: workflows.__main__.main([]), "worker"),
        (bot.__main__.main, "bot"),
    ],
    ids=["worker", "bot"],
)
def test_whoever_keeps_places_up_does_not_start_without_it(
    main: Callable[[], int],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.delenv(NAME, raising=False)
    told = {
        "LESSOR_CONFIG": str(EXAMPLE),
        "LESSOR_DATA": str(tmp_path),
        "SLACK_BOT_TOKEN": "xoxb-1-token",
        "SLACK_APP_TOKEN": "xapp-1-token",
    }
    for variable, value in told.items():
        monkeypatch.setenv(variable, value)
    assert main() == 2
    assert capsys.readouterr().err == f"lessor {name}: {MISSING}\n"
