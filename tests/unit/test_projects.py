"""What a project may be called, whichever way a request comes in."""

from __future__ import annotations

import re

import pytest

from lessor.config.section import KEY
from lessor.domain.errors import Invalid
from lessor.domain.request import validate
from tests.builders import ASKED, a_request, some_limits

NO_PROJECT = "is no project; letters, digits and hyphens between them are allowed, as in llm-2"


def errors(project: str) -> list[tuple[str, str]]:
    try:
        validate(a_request(project=project), some_limits(), ASKED)
    except Invalid as invalid:
        return [(e.field, e.message) for e in invalid.errors]
    return []


@pytest.mark.parametrize("project", ["x", "2", "llm-2", "a--b", "x" * 40])
def test_what_a_limit_can_name_is_a_project(project: str) -> None:
    assert re.fullmatch(KEY, project)
    assert errors(project) == []


@pytest.mark.parametrize("project", ["", "  ", " LLM-2 "])
def test_none_at_all_and_another_spelling_are_fine(project: str) -> None:
    assert errors(project) == []


@pytest.mark.parametrize(
    ("project", "message"),
    [
        ("x" * 41, "has 41 characters; at most 40 are allowed"),
        ("x" * 3_500, "has 3,500 characters; at most 40 are allowed"),
        ("the llm", f"'the llm' {NO_PROJECT}"),
        ("l_m", f"'l_m' {NO_PROJECT}"),
        ("-llm", f"'-llm' {NO_PROJECT}"),
        ("llm-", f"'llm-' {NO_PROJECT}"),
        ("lång", f"'lång' {NO_PROJECT}"),
        ("\u212alm", f"'\u212alm' {NO_PROJECT}"),
        ("a\x00\nb", f"'a??b' {NO_PROJECT}"),
    ],
)
def test_what_no_limit_can_name_is_no_project(project: str, message: str) -> None:
    assert re.fullmatch(KEY, project) is None
    assert errors(project) == [("project", message)]
