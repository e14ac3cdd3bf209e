"""The wheel: what production installs, and what stays out of it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    builder = WheelBuilder(str(ROOT))
    [built] = list(builder.build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"]))
    with zipfile.ZipFile(built) as wheel:
        return set(wheel.namelist())


def test_it_ships_the_four_packages_and_nothing_else(names: set[str]) -> None:
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"lessor", "workflows", "activities", "bot"}


def test_every_source_file_and_data_file_is_in_it(names: set[str]) -> None:
    wanted = {
        str(path.relative_to(ROOT))
        for package in ("lessor", "workflows", "activities", "bot")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted - names == set()


def test_templates_and_what_lessor_may_do_come_along(names: set[str]) -> None:
    templates = {f"lessor/{path.relative_to(ROOT)}" for path in (ROOT / "templates").rglob("*") if path.is_file()}
    rights = {
        f"lessor/{path.relative_to(ROOT)}"
        for kind in ("aws", "kubernetes")
        for path in (ROOT / "deploy" / kind).rglob("*")
        if path.is_file()
    }
    assert templates
    assert {one.split("/")[2] for one in rights} == {"aws", "kubernetes"}
    assert (templates | rights) - names == set()


def test_it_has_the_command(names: set[str]) -> None:
    assert "lessor-0.1.0.dist-info/entry_points.txt" in names
