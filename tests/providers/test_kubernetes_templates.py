"""The templates of workspaces: an organisation's own, those that do not fit, and what anybody may write in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lessor.domain.request import LeaseKind
from lessor.ports import PermanentError
from lessor.providers.kubernetes.api import NAMESPACE, STATEFUL_SET, Obj
from lessor.providers.kubernetes.place import Workspace
from lessor.providers.kubernetes.quantities import times
from lessor.rendering import manifest_renderer
from tests.providers.kube_leases import LEASE, Beginning

HOSTILE = "x\"\n---\nkind: Pod\n# ' {{ 7 * 7 }} {% raw %} \u2028 \x00 \x85 & * ! | > : - [a, b] 😀\\"


@pytest.fixture
def world() -> Beginning:
    return Beginning()


def test_an_organisation_may_have_its_own(tmp_path: Path) -> None:
    world = Beginning(templates=tmp_path)
    own(tmp_path, metadata="labels: {lessor.dev/lease: gpu-00000009, app: notebook}")
    world.config = replace(world.config, workspace=Workspace(template="own.yaml.j2"))
    world.lease(a_workspace(world))
    meta = world.obj(STATEFUL_SET, "workspace")["metadata"]
    assert (meta["namespace"], meta["labels"]["app"], meta["labels"]["lessor.dev/lease"]) == (LEASE, "notebook", LEASE)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ nothing }}", "'nothing' is undefined"),
        ("{% if %}", "Expected an expression"),
        ("a: [", "while parsing"),
        ("{{ disk + 1 }}", "TypeError"),
        ("{{ 1 // 0 }}", "ZeroDivisionError"),
        ("{% for one in range(10 ** 9) %}{% endfor %}", "Range too big"),
        ("{% include 'nothing.j2' %}", "nothing.j2"),
        ("a: 2026-13-45", "ValueError"),
        ("apiVersion: v1\nkind: [Pod]\nmetadata: {name: x}", "it makes ['Pod'] (v1)"),
        ("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: [name]", "AttributeError"),
        ("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: workspace, labels: [a]}", "TypeError"),
        (
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: workspace, annotations: {day: 2026-01-01}}",
            "date is not JSON",
        ),
        ("", "exactly one StatefulSet"),
        ("just words", "something that is no object"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: x}", "it makes Secret (v1)"),
        ("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {}", "has no name"),
        ("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: other}", "called workspace"),
        ("{{ ''.__class__.__mro__ }}", "__class__"),
    ],
)
def test_one_that_does_not_fit_is_told_and_leaves_nothing(tmp_path: Path, text: str, why: str) -> None:
    world = Beginning(templates=tmp_path)
    own(tmp_path, text)
    world.config = replace(world.config, workspace=Workspace(template="own.yaml.j2"))
    with pytest.raises(PermanentError, match="an administrator has to correct it") as caught:
        world.launch(a_workspace(world))
    assert why in str(caught.value)
    assert caught.value.code == "template"
    assert world.api.existing(LEASE) == []


def test_an_amount_that_is_none_is_told(world: Beginning) -> None:
    world.config = replace(world.config, workspace=Workspace(cpu="four"))
    with pytest.raises(PermanentError, match=r"workspace\.cpu is 'four'"):
        world.launch(a_workspace(world))
    assert world.api.existing(LEASE) == []


@pytest.mark.parametrize(
    ("said", "count", "all_of_it"),
    [
        ("4", 2, "8"),
        ("500m", 3, "1500m"),
        ("32Gi", 8, "256Gi"),
        ("1.5Gi", 3, "4.5Gi"),
        ("0.5", 2, "1"),
        ("1e3", 2, "2e3"),
    ],
)
def test_amounts_are_for_each_gpu(said: str, count: int, all_of_it: str) -> None:
    assert times(said, count, "cpu") == all_of_it


def test_what_people_write_stays_text(tmp_path: Path) -> None:
    world = Beginning(templates=tmp_path)
    own(tmp_path, metadata="annotations: {purpose: {{ purpose }}, owner: {{ owner }}}")
    world.config = replace(world.config, workspace=Workspace(template="own.yaml.j2", image=HOSTILE, command=(HOSTILE,)))
    world.launch(replace(a_workspace(world, purpose=HOSTILE), owner=HOSTILE))
    assert world.obj(STATEFUL_SET, "workspace")["metadata"]["annotations"]["purpose"] == HOSTILE
    assert world.obj(STATEFUL_SET, "workspace")["metadata"]["annotations"]["owner"] == HOSTILE
    assert world.obj(NAMESPACE, LEASE)["metadata"]["annotations"]["lessor.dev/purpose"] == HOSTILE


def test_what_is_configured_stays_text_in_the_template_that_ships(world: Beginning) -> None:
    world.config = replace(world.config, workspace=Workspace(image=HOSTILE, command=(HOSTILE, "ok")))
    world.launch(a_workspace(world))
    assert (box_of(world)["image"], box_of(world)["command"]) == (HOSTILE, [HOSTILE, "ok"])


@given(st.text(st.characters(), max_size=80))
@settings(max_examples=150, deadline=None)
def test_any_text_comes_out_of_a_template_as_it_went_in(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("own")
    (folder / "kubernetes").mkdir()
    (folder / "kubernetes" / "t.j2").write_text(
        "a: {{ one }}\nb: [{{ one }}, {{ one | yaml }}]\nc: {{ many | yaml }}\n"
    )
    made = manifest_renderer(folder).render("t.j2", one=text, many={text: [text]})
    assert yaml.safe_load(made) == {"a": text, "b": [text, text], "c": {text: [text]}}


def a_workspace(world: Beginning, **changes: Any) -> Any:
    return world.order(kind=LeaseKind.WORKSPACE, **changes)


def box_of(world: Beginning) -> Obj:
    (found,) = world.obj(STATEFUL_SET, "workspace")["spec"]["template"]["spec"]["containers"]
    return dict(found)


def own(folder: Path, text: str = "", metadata: str = "") -> None:
    """An organisation's template: `text`, or a workspace with more in its metadata."""
    whole = (
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: workspace\n  namespace: kube-system\n"
        f"  {metadata}\nspec:\n  replicas: 1\n  template: {{metadata: {{}}, spec: {{containers: []}}}}\n"
    )
    (folder / "kubernetes").mkdir()
    (folder / "kubernetes" / "own.yaml.j2").write_text(whole if metadata else text)
