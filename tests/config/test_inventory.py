"""Inventories of machines: in lessor.yaml, in YAML and in tables, with all that is wrong told by file and line."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from lessor.config import ConfigError, loads
from lessor.config.inventory import LONGEST, check_inventories, machines_of, read_inventory
from lessor.config.pools import MachineConfig, MachinesConfig
from tests.config.sample import VALID
from workflows.calls import PLACE_TIMEOUT

HEAD = "name,model,gpus,memory_gib,address,room,owner,hourly,since,lease,withdrawn\n"
POOL = """
  - name: pool
    provider: machines
    machines:
"""


def placed(text: str) -> str:
    """The example with one more place, a pool with this in it."""
    indented = "".join(f"      {line}\n" for line in text.splitlines())
    return VALID.replace("\nplaces:\n", f"\nplaces:{POOL}{indented}", 1)


def test_a_table_and_yaml_say_the_same(tmp_path: Path) -> None:
    table, tree = tmp_path / "machines.csv", tmp_path / "machines.yaml"
    table.write_text(
        HEAD + "dgx-1,A100-80GB,8,80,10.0.0.1,cellar,vision,2.50,2026-01-01,,\nlab-1,L4,4,,,,,,,gpu,fan\n\n"
    )
    tree.write_text(
        "machines:\n"
        "  - {name: dgx-1, model: A100-80GB, gpus: 8, memory_gib: 80, address: 10.0.0.1, room: cellar, owner: vision,\n"
        "     hourly: 2.50, since: 2026-01-01}\n"
        "  - {name: lab-1, model: L4, gpus: 4, lease: gpu, withdrawn: fan}\n"
    )
    first = MachineConfig(
        name="dgx-1",
        model="A100-80GB",
        gpus=8,
        memory_gib=80,
        address="10.0.0.1",
        room="cellar",
        owner="vision",
        hourly=Decimal("2.50"),
        since=date(2026, 1, 1),
    )
    second = MachineConfig(name="lab-1", model="L4", gpus=4, lease="gpu", withdrawn="fan")
    assert read_inventory(table) == read_inventory(tree) == (first, second)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("dgx-1,A100-80GB,eight", "machines.csv:2: machines[0].gpus"),
        ("dgx-1,A100-80GB,0", "machines.csv:2: machines[0].gpus"),
        ("-rm,A100-80GB,8", "machines.csv:2: machines[0].name"),
        ("ok,L4,1\n../etc,L4,1", "machines.csv:3: machines[1].name"),
        ("dgx-1,A100-80GB,8,80,a,b,c,-1", "machines.csv:2: machines[0].hourly"),
        (",L4,1", "machines.csv:2: machines[0].name"),
        ("a,L4,1,1,1,1,1,1,2026-01-01,gpu,x,too,many", "machines.csv:2: has more cells"),
        ('a,"L4', "is no table"),
        (f"a,L4,{'9' * 5_000}", "machines.csv:2: machines[0].gpus: is '999"),
    ],
)
def test_what_is_wrong_in_a_table_is_told_by_its_row(tmp_path: Path, row: str, words: str) -> None:
    path = tmp_path / "machines.csv"
    path.write_text(HEAD + row + "\n")
    with pytest.raises(ConfigError) as caught:
        read_inventory(path)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "machines.csv:1: has no first row with the names of its columns, such as name,model,gpus"),
        ("\n", "machines.csv:1: has no first row"),
        ("name,model,gpus,gpus\na,L4,4,8\n", "machines.csv:1: has two columns 'gpus'; keep one of them"),
    ],
)
def test_a_table_without_a_whole_first_row_has_no_machines_that_are_known(
    tmp_path: Path, text: str, words: str
) -> None:
    """It may be one that is being written just now: its machines have not gone."""
    path = tmp_path / "machines.csv"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_inventory(path)
    assert words in str(caught.value)
    path.write_text(HEAD)
    assert read_inventory(path) == ()


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"machines.yaml: cannot be read: No such file"):
        machines_of(MachinesConfig(inventory="machines.yaml"), tmp_path)


def test_one_name_is_one_machine_over_file_and_configuration(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("machines: [{name: a, model: L4, gpus: 1}]\n")
    both = MachinesConfig(inventory="m.yaml", machines=(MachineConfig(name="a", model="L4", gpus=1),))
    with pytest.raises(ConfigError) as caught:
        machines_of(both, tmp_path)
    words = "'a' is the name of another machine of lessor.yaml too; each machine has a name of its own"
    assert str(caught.value) == f"m.yaml:1: machines[0].name: {words}"
    alone = MachinesConfig(inventory="m.yaml", machines=(MachineConfig(name="b", model="L4", gpus=1),))
    assert [one.name for one in machines_of(alone, tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "machines: [{name: a, model: L4, gpus: 1}]\nhooks: {grant: [g], revoke: [r]}",
            "has no verify; without all of",
        ),
        ("machines: [{name: a, model: L4, gpus: 1}]\nhooks: {verify: [v]}", "has no grant and no revoke"),
        ("health_every: 5s\ninventory: m.csv", "is 5 s; the least is 10 s"),
        ("hooks: {timeout: 0s}\ninventory: m.csv", "is 0 s; allowed: up to 1 min 30 s"),
        ("hooks: {timeout: 5min}\ninventory: m.csv", "is 5 min; allowed: up to 1 min 30 s"),
        ("clean_up: 5min", "has no machines; name some"),
    ],
)
def test_a_pool_that_contradicts_itself_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loads(placed(text))
    assert words in str(caught.value)


SAME = "too; each machine has a name of its own"


def test_of_two_machines_of_one_name_both_lines_are_told(tmp_path: Path) -> None:
    a, b = "- {name: a, model: L4, gpus: 1}", "- {name: b, model: L4, gpus: 1}"
    with pytest.raises(ConfigError) as caught:
        loads(placed(f"machines:\n{a}\n{b}\n{a}\n{b}"))
    (first, second), at = caught.value.problems, "places[0].machines.machines"
    assert first.line > 2
    assert second.line == first.line + 1
    assert [(one.path, one.message) for one in (first, second)] == [
        (f"{at}[2].name", f"'a' is the name of the machine on line {first.line - 2} {SAME}"),
        (f"{at}[3].name", f"'b' is the name of the machine on line {second.line - 2} {SAME}"),
    ]
    path = tmp_path / "machines.csv"
    path.write_text(f"{HEAD}a,L4,1\nb,L4,1\na,L4,2\n")
    with pytest.raises(ConfigError) as caught:
        read_inventory(path)
    assert str(caught.value) == f"machines.csv:4: machines[2].name: 'a' is the name of the machine on line 2 {SAME}"


def test_of_a_name_in_the_file_and_in_the_configuration_both_lines_are_told(tmp_path: Path) -> None:
    (tmp_path / "machines.csv").write_text(f"{HEAD}b,L4,1\na,L4,1\n")
    config = loads(
        placed("inventory: machines.csv\nmachines:\n- {name: c, model: L4, gpus: 1}\n- {name: a, model: L4, gpus: 1}")
    )
    line = config.line(("places", 0, "machines", "machines", 1, "name"))
    with pytest.raises(ConfigError) as caught:
        check_inventories(config, tmp_path)
    assert line > 1
    assert str(caught.value) == (
        f"machines.csv:3: machines[1].name: 'a' is the name of the machine on line {line} of lessor.yaml {SAME}"
    )


def test_a_pool_without_hooks_is_allowed(tmp_path: Path) -> None:
    config = loads(placed("machines: [{name: a, model: L4, gpus: 1}]"))
    check_inventories(config, tmp_path)
    assert [place.name for place in config.places if place.machines] == ["pool"]


def test_whoever_waits_for_hooks_waits_as_long_as_they_may_take() -> None:
    """Letting people in anew is a grant and a look."""
    assert PLACE_TIMEOUT > 2 * LONGEST
