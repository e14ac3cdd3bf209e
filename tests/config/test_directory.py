"""One human being behind many ids."""

from __future__ import annotations

import pytest

from lessor.config import loads
from lessor.directory import ConfigDirectory
from lessor.domain.people import Person
from tests.config.sample import VALID, changed

MANAGER = Person(
    id="U0MANAGER",
    ids=("U0MANAGER", "W0MANAGER", "boss@example.com", "manager@example.com"),
    email="manager@example.com",
    teams=("research",),
    leads=("research",),
)


@pytest.fixture
def directory() -> ConfigDirectory:
    return ConfigDirectory(loads(VALID))


@pytest.mark.parametrize("ref", ["U0MANAGER", "W0MANAGER", "boss@example.com", "Manager@EXAMPLE.com", " u0manager "])
async def test_every_id_and_address_finds_the_same_person(directory: ConfigDirectory, ref: str) -> None:
    assert await directory.person(ref) == MANAGER


@pytest.mark.parametrize("ref", ["", "U0NOBODY", "manager", "example.com", "Requester"])
async def test_unknown_people_are_nobody_and_never_somebody_else(directory: ConfigDirectory, ref: str) -> None:
    assert await directory.person(ref) is None


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("person:boss@example.com", ["U0MANAGER"]),
        ("group:finance", ["U0FINANCE"]),
        ("lead:research", ["U0MANAGER"]),
        ("admins", ["U0ADMIN"]),
        ("person:U0NOBODY", []),
        ("group:nothing", []),
        ("lead:nothing", []),
        ("lead", []),
        ("U0MANAGER", []),
    ],
)
async def test_members(directory: ConfigDirectory, ref: str, expected: list[str]) -> None:
    assert [person.id for person in await directory.members(ref)] == expected


async def test_a_person_named_twice_in_a_group_is_one_member() -> None:
    config = loads(changed("finance: [U0FINANCE]", "finance: [U0MANAGER, boss@example.com, W0MANAGER]"))
    assert await ConfigDirectory(config).members("group:finance") == (
        Person(**{**MANAGER.__dict__, "groups": ("finance",)}),
    )


async def test_groups_teams_and_rights_follow_aliases() -> None:
    config = loads(changed("admins: [U0ADMIN]", "admins: [W0MANAGER]").replace("members: [U0REQUESTER]", "members: []"))
    person = await ConfigDirectory(config).person("U0MANAGER")
    assert person is not None
    assert (person.admin, person.teams, person.leads) == (True, ("research",), ("research",))
    requester = await ConfigDirectory(config).person("U0REQUESTER")
    assert requester is not None
    assert (requester.admin, requester.teams) == (False, ())


async def test_deactivated_people_are_known_as_such() -> None:
    config = loads(changed("{id: U0REQUESTER,", "{id: U0REQUESTER, active: false,"))
    person = await ConfigDirectory(config).person("requester@example.com")
    assert person is not None
    assert not person.active


async def test_teams(directory: ConfigDirectory) -> None:
    team = directory.team("research")
    assert team is not None
    assert (team.lead, team.name, team.cost_center) == ("U0MANAGER", "Research", "4711")
    assert directory.team("nothing") is None
