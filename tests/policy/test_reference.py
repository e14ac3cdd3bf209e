"""docs/policy.md lists exactly the facts, functions and keys that there are, and its examples are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from lessor.config import loads
from lessor.policyfile import compile_policy
from lessor.policyfile.functions import GLOBAL, METHODS
from lessor.policyfile.reference import BEGIN, END, facts_table
from lessor.policyfile.suite import run_suite
from lessor.policyfile.suitemodel import AskedConfig
from tests.config.sample import VALID

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
POLICY, SUITE, SECURITY = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
PEOPLE = VALID.partition("lease:")[0].replace("members: [", "budget_owner: U0ADMIN, members: [")
PLACES = "places:\n  - {name: us, regions: [us-east-1], markets: [on-demand, spot]}\n"


def test_the_table_of_facts_is_current() -> None:
    published = PAGE.partition(BEGIN)[2].partition(END)[0].strip()
    assert published == facts_table()


def test_every_function_is_listed() -> None:
    assert [name for name in (*GLOBAL, *METHODS) if f"{name}(" not in PAGE] == []


def test_every_key_of_a_tested_request_is_listed() -> None:
    keys = [one.alias or name for name, one in AskedConfig.model_fields.items()]
    assert [key for key in keys if f"`{key}`" not in PAGE] == []


def test_the_examples_are_right(tmp_path: Path) -> None:
    (tmp_path / "tests.yaml").write_text(SUITE)
    config = loads(PEOPLE.replace("finance: [U0FINANCE]", "finance: [U0FINANCE, U0ADMIN]") + PLACES + POLICY)
    results = run_suite(tmp_path / "tests.yaml", config, compile_policy(config))
    assert [one.differences for one in results] == [(), ()]
    secured = compile_policy(loads(PEOPLE + SECURITY))
    assert [rule.name for rule in secured.policy.rules] == [
        "security/encryption",
        "security/public-address",
        "security/internal/encryption",
        "security/secret/residency",
        "security/secret/encryption",
        "security/secret/public-address",
        "security/sealed/places",
        "security/unclassified",
    ]


@pytest.mark.parametrize("said", re.findall(r"^- .*?: (`.*?`)(?:, (`.*`))?[.,]$", PAGE, re.MULTILINE))
def test_what_is_said_to_be_refused_is_refused(said: tuple[str, str]) -> None:
    for text in (one.strip("`") for one in said if one):
        rules = yaml.safe_dump({"policy": {"rules": [{"name": "a", "when": text, "then": "approve"}]}})
        with pytest.raises(Exception, match="never"):
            loads(PEOPLE + PLACES + rules)
