"""`lessor config`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

Lessor = Callable[..., Result]


def test_config_check(lessor: Lessor, tmp_path: Path) -> None:
    good = lessor("config", "check")
    assert good.exit_code == 0
    assert good.stdout.startswith(f"{tmp_path}/lessor.yaml is valid: 4 people, 1 teams, 1 places, 2 rules; version ")
    broken = tmp_path / "broken.yaml"
    broken.write_text((tmp_path / "lessor.yaml").read_text().replace("grace: 7d", "grase: 7d"))
    bad = lessor("config", "check", "--config", str(broken))
    assert bad.exit_code == 2
    assert bad.stderr.startswith("lessor: broken.yaml:16: lease.grase: unknown key; did you mean 'grace'?")
    as_json = json.loads(lessor("config", "check", "--config", str(broken), "--json").stdout)
    assert (as_json["ok"], as_json["problems"][0]["line"], as_json["problems"][0]["key"]) == (False, 16, "lease.grase")


def test_config_schema_is_the_published_one(lessor: Lessor) -> None:
    published = Path(__file__).parents[2] / "docs" / "lessor.schema.json"
    assert lessor("config", "schema").stdout == published.read_text(encoding="utf-8")
    assert lessor("config", "schema", "--json").stdout == published.read_text(encoding="utf-8")
