"""What a valid lessor.yaml means."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from lessor.config import Config, load, loads
from lessor.config.durations import duration
from lessor.config.schema import schema, schema_text
from lessor.directory import ConfigDirectory
from lessor.domain.request import LeaseKind, Limits, Market
from lessor.domain.terms import Terms
from lessor.policyfile import compile_policy
from lessor.ports import Team
from tests.builders import a_quota
from tests.config.sample import VALID, changed

ROOT = Path(__file__).parents[2]


def test_the_example_is_valid_and_its_rules_compile() -> None:
    config = load(ROOT / "examples" / "lessor.yaml")
    assert [rule.name for rule in compile_policy(config).policy.rules] == [
        "security/encryption",
        "security/public-address",
        "small-and-short",
        "costly",
        "many-gpus",
        "no-large-weekend-starts",
        "budget-nearly-used",
        "third-of-its-kind",
        "notebooks-are-short",
        "spot-for-checkpointed-training",
        "no-spot-for-realtime",
        "smaller-notebook",
    ]


def test_terms_take_what_is_written_and_the_defaults_for_the_rest() -> None:
    terms = loads(VALID).terms()
    lapse = timedelta(hours=18)
    assert terms == Terms(lapse_after=lapse, grace=timedelta(days=7), warnings=(timedelta(days=2), timedelta(hours=2)))


def test_limits_are_those_of_the_person() -> None:
    config = loads(changed("  grace: 7d", "  max_duration: 10d\n  max_gpus: 8"))
    (requester, *_) = ConfigDirectory(config).people
    assert config.limits(requester) == Limits(
        teams=("research",),
        places=("research-us",),
        max_duration=timedelta(days=10),
        max_gpus=8,
        kinds={"research-us": (LeaseKind.MACHINE,)},
    )


def test_quotas_and_teams() -> None:
    config = loads(VALID)
    assert config.quota_plan.ceilings == (a_quota("research", 16), a_quota("research", 8, "A100-80GB"))
    assert config.team("research") == Team("research", "Research", "U0MANAGER", "", "4711")


def test_a_place_without_more_has_on_demand_only() -> None:
    place = loads(VALID).place("research-us")
    assert place is not None
    assert (place.markets, place.zones, place.provider) == ((Market.ON_DEMAND,), ("us-east-1a",), "aws")
    assert loads(VALID).place("elsewhere") is None


def test_prices_are_exact() -> None:
    text = changed("    zones: [us-east-1a]\n", "    prices: {p4d.24xlarge: {on_demand: 21.957642}}\n")
    place = loads(text).place("research-us")
    assert place is not None
    assert place.prices["p4d.24xlarge"].on_demand == Decimal("21.957642")


def test_values_keep_what_was_written_where_yaml_would_change_them() -> None:
    text = changed("cost_center: 4711", "cost_center: 0815").replace("name: Example\n", "name: NO\n")
    config = loads(text)
    assert config.organisation.teams["research"].cost_center == "0815"
    assert config.organisation.name == "NO"


def test_the_version_follows_content_and_not_layout() -> None:
    plain = loads(VALID).version
    assert loads("# a comment\n" + VALID.replace("{all: 16, A100-80GB: 8}", "{A100-80GB: 8, all: 16}")).version == plain
    assert loads(changed("grace: 7d", "grace: 6d")).version != plain


def test_a_configuration_cannot_be_changed() -> None:
    config = loads(VALID)
    with pytest.raises(ValidationError):
        config.lease = None  # type: ignore[assignment,misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20s", timedelta(seconds=20)),
        ("15min", timedelta(minutes=15)),
        ("15m", timedelta(minutes=15)),
        ("8 h", timedelta(hours=8)),
        ("7d", timedelta(days=7)),
        ("2w", timedelta(weeks=2)),
        ("1h 30min", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        ("0s", timedelta()),
    ],
)
def test_durations(text: str, expected: timedelta) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize("value", ["", "h", "1 fortnight", "-1h", "1h-2h", "1e3s", True, None, [1], "9" * 30 + "d"])
def test_what_is_no_duration(value: object) -> None:
    with pytest.raises(ValueError, match="allowed: a number with s, min, h, d or w"):
        duration(value)


def test_every_number_of_a_duration_is_read_back_from_the_hash() -> None:
    config = loads(changed("grace: 7d", "grace: 1.5h"))
    assert json.loads(config.model_dump_json())["lease"]["grace"] == "5400s"


def test_the_published_schema_is_current() -> None:
    published = (ROOT / "docs" / "lessor.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(), "run: lessor config schema > docs/lessor.schema.json"


def test_the_schema_describes_every_key() -> None:
    def undescribed(name: str, section: dict[str, object]) -> list[str]:
        keys = section.get("properties", {})
        assert isinstance(keys, dict)
        return [f"{name}.{key}" for key, value in keys.items() if not {"description", "$ref"} & set(value)]

    whole = schema()
    found = undescribed("", whole)
    for name, section in whole["$defs"].items():
        found += undescribed(name, section)
    assert found == []
    assert set(whole["properties"]) == set(Config.model_fields)
