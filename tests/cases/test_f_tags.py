"""Case F35: one key in several spellings, on resources that are read and in requests that are written."""

from __future__ import annotations

import pytest

from lessor.domain.tags import said, untaggable
from lessor.providers.kubernetes import capacity
from tests.providers.kube_nodes import a_cluster, a_site, node, pod, space, the_holder

NAMES = ("lessor.dev/owner", "owner", "cost center")


@pytest.mark.parametrize("key", ["Owner", "owner", " OWNER ", "o-wner", "o_w ner", "oWnEr\t"])
def test_F35_case_spaces_hyphens_and_underscores_are_read_as_equal(key: str) -> None:
    assert said({key: " ana ", "unrelated": "bob"}, NAMES) == "ana"


@pytest.mark.parametrize("key", ["cost-center", "Cost_Center", "CostCenter", "cost  center"])
def test_F35_a_key_of_two_words_is_one_key(key: str) -> None:
    assert said({key: "4711"}, NAMES) == "4711"


@pytest.mark.parametrize("key", ["owners", "co-owner", "owner.name", "ownér"])
def test_F35_other_keys_are_other_keys(key: str) -> None:
    assert said({key: "ana"}, NAMES) == ""


def test_F35_two_spellings_that_differ_are_a_conflict_and_not_chosen_between() -> None:
    assert said({"Owner": "ana", "owner": "bob"}, NAMES) == "conflict: Owner is ana, owner is bob"
    assert said({"Owner": "ana", "owner": "ana "}, NAMES) == "ana"
    assert said({"Owner": "ana", "owner": " "}, NAMES) == "ana"


def test_F35_the_first_name_that_says_something_counts() -> None:
    assert said({"owner": "bob", "lessor.dev/owner": "ana"}, NAMES) == "ana"
    assert said({"owner": "bob", "lessor.dev/owner": ""}, NAMES) == "bob"
    assert said({}, NAMES) == ""


@pytest.mark.parametrize(
    ("labels", "who"),
    [
        ({"Owner": "ana"}, "ana"),
        ({"app.kubernetes.io/Owner": "ana"}, "ana"),
        ({"Owner": "ana", "owner": "bob"}, "conflict: Owner is ana, owner is bob"),
    ],
)
def test_F35_whoever_holds_gpus_without_a_lease_is_found_by_any_spelling(labels: dict[str, str], who: str) -> None:
    running = pod("notebook", 1)
    running["metadata"]["labels"] = labels
    api = a_cluster(node("node-a", {"nvidia.com/gpu": 8}), space("team"), running)
    assert the_holder(capacity.census(a_site(api)), "pod team/notebook").who == who


def test_F35_one_spelling_is_written() -> None:
    wrong = untaggable({"Cost-Center": "1", "cost_center": "2"})
    assert wrong is not None
    assert wrong.message == "'Cost-Center' and 'cost_center' are one key in two spellings; keep one of them"
    assert untaggable({"project": "a", "Cost-Center": "1", "cost_centre": "2"}) is None
