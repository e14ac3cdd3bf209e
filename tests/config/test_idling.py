"""The `idle` section: what it says arrives, and what contradicts itself is told with line, key and what is allowed."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from lessor.config import Config, ConfigError, loads
from lessor.config.idling import TERMS
from lessor.domain.idle_plan import IdleRule
from tests.config.sample import VALID

HOUR = timedelta(hours=1)
PAGE = (Path(__file__).parents[2] / "docs" / "idle.md").read_text()
LINE = len(VALID.splitlines()) + 2


def with_idle(text: str) -> Config:
    """The sample with this under `idle`; its first line is `LINE`."""
    return loads(f"{VALID.rstrip()}\nidle:\n" + "".join(f"  {line}\n" for line in text.splitlines()))


def test_every_level_arrives() -> None:
    plan = with_idle(
        """\
window: 90min
warn: 90min
final: 2h
stop: 150min
cpu: ignore
power: 120
workloads: {notebook: {spare: 4h}}
teams: {research: {stops: false}}
projects: {ranking: {review_after: never}}
rules:
  - {name: spot, when: 'request.market == "spot"', then: {snoozes: 0}}"""
    ).idle_plan
    assert plan.organisation == {
        "window": 1.5 * HOUR,
        "warn": 1.5 * HOUR,
        "final": 2 * HOUR,
        "stop": 2.5 * HOUR,
        "cpu": None,
        "power": 120.0,
    }
    assert plan.workloads == {"notebook": {"spare": 4 * HOUR}}
    assert (plan.teams, plan.projects) == ({"research": {"stops": False}}, {"ranking": {"review_after": None}})
    assert plan.rules == (IdleRule("spot", 'request.market == "spot"', {"snoozes": 0}),)


def test_left_out_it_says_nothing_and_the_brake_has_its_defaults() -> None:
    config = loads(VALID)
    assert config.idle_plan.organisation == {}
    assert (config.idle.brake.share, config.idle.brake.least) == (0.2, 5)
    assert with_idle("brake: {share: 0.1, least: 3}").idle.brake.share == 0.1


def test_ignoring_a_signal_is_another_configuration_than_leaving_it_out() -> None:
    versions = {with_idle(text).version for text in ("snoozes: 3", "cpu: ignore", "cpu: 20", "review_after: never")}
    assert len(versions) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("windw: 1h", "idle.windw: unknown key; did you mean 'window'?; allowed here: "),
        (
            "window: 2h",
            "idle.window: window is 2 h and warn is 1 h; they come in this order: window, warn, final, stop",
        ),
        ("stop: 90min", "idle.stop: final is 1 h 45 min and stop is 1 h 30 min; they come in this order"),
        ("held_stop: 1h", "idle.held_stop: held_stop is 1 h, before stop (2 h)"),
        ("window: 0s", "idle.window: is 0 s; allowed: more than 0 and at most 30 d"),
        ("snooze_most: 40d", "idle.snooze_most: is 40 d; allowed: more than 0 and at most 30 d"),
        ("warm_up: 40d", "idle.warm_up: is 40 d; allowed: at most 30 d"),
        ("stop: 120", "idle.stop: is the number 120 without a unit; allowed: a number with s, min, h, d or w"),
        ("engine: 2", "idle.engine: is 2; allowed: 1.0 or less"),
        ("cpu: 101", "idle.cpu: is '101'; allowed: a number from 0 to 100, or ignore"),
        ("cpu: lots", "idle.cpu: is 'lots'; allowed: a number from 0 to 100, or ignore"),
        ("cpu: true", "idle.cpu: is 'True'; allowed: a number from 0 to 100, or ignore"),
        ("network:", "idle.network: is empty; leave it out to take what the level above says"),
        ("teams:", "idle.teams: is empty; allowed: keys with values"),
        ("review_after: soon", "idle.review_after: is 'soon'; allowed: a number with s, min, h, d or w"),
        ("snoozes: -1", "idle.snoozes: is -1; allowed: 0 or more"),
        ("stops: never", "idle.stops: is 'never'; allowed: true or false"),
        ("workloads: {notebok: {}}", "idle.workloads.notebok: is 'notebok'; allowed: training, fine-tuning"),
        ("workloads: {notebook: {window: 2h}}", "idle.workloads.notebook.window: window is 2 h and warn is 1 h"),
        ("teams: {reserch: {}}", "idle.teams.reserch: there is no team 'reserch'; did you mean 'research'?; teams: "),
        ("brake: {share: 0}", "idle.brake.share: is 0; allowed: more than 0"),
        ("rules: [{name: a, when: 'request.cont > 1', then: {}}]", "idle.rules[0].when: unknown fact 'request.cont'"),
        ("rules: [{name: a, when: 'request.hours < 0', then: {}}]", "idle.rules[0].when: "),
        ("rules: [{name: a, when: 'true', then: {stop: 1h}}]", "idle.rules[0].then.stop: final is 1 h 45 min"),
        (
            "rules: [{name: a, when: 'true', then: {}}, {name: a, when: 'true', then: {}}]",
            "idle.rules[1].name: 'a' is the name of another rule as well",
        ),
    ],
)
def test_what_is_wrong_is_told_with_line_key_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_idle(text)
    assert f"lessor.yaml:{LINE}: {message}" in str(caught.value)


def test_conditions_are_looked_at_where_another_part_is_wrong_too() -> None:
    with pytest.raises(ConfigError) as caught:
        with_idle("windw: 1h\nrules: [{name: a, when: 'request.cont > 1', then: {}}]")
    assert "unknown key" in str(caught.value)
    assert f"lessor.yaml:{LINE + 1}: idle.rules[0].when: unknown fact 'request.cont'" in str(caught.value)


def test_what_the_page_shows_can_be_used() -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 2
    for text in examples:
        written = with_idle(yaml.safe_dump(yaml.safe_load(text)["idle"]))
        assert written.idle != loads(VALID).idle


def test_every_threshold_is_on_the_page() -> None:
    table = "".join(line for line in PAGE.splitlines(keepends=True) if line.startswith("| `"))
    assert {name for name in TERMS if f"`{name}`" not in table} == set()
