"""docs/policy.md lists exactly the facts and functions that there are, and its examples compile."""

from __future__ import annotations

from pathlib import Path

import yaml

from lessor.policyfile.conditions import compile_condition
from lessor.policyfile.functions import GLOBAL, METHODS
from lessor.policyfile.reference import BEGIN, END, facts_table

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")


def test_the_table_of_facts_is_current() -> None:
    published = PAGE.partition(BEGIN)[2].partition(END)[0].strip()
    assert published == facts_table()


def test_every_function_is_listed() -> None:
    assert [name for name in (*GLOBAL, *METHODS) if f"{name}(" not in PAGE] == []


def test_the_example_compiles() -> None:
    example = yaml.safe_load(PAGE.partition("```yaml")[2].partition("```")[0])
    for rule in example["policy"]["rules"]:
        compile_condition(rule["when"])
