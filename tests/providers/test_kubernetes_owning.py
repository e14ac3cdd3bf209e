"""Whose a lease of a cluster is and until when, as it is moved and shared: what is written, and who is let in."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lessor.domain.request import LeaseKind
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import ownership
from lessor.providers.kubernetes.api import NAMESPACE, RESOURCE_QUOTA, ROLE_BINDING, SERVICE_ACCOUNT
from tests.providers.kube_leases import ENDS, LEASE, PIECES, Beginning


@pytest.fixture
def world() -> Beginning:
    return Beginning()


def test_the_end_is_written_on_everything(world: Beginning) -> None:
    world.lease(world.order(kind=LeaseKind.WORKSPACE))
    later = ENDS + timedelta(hours=3, microseconds=7)
    for _ in range(2):
        ownership.set_end(world.site, LEASE, later)
    ends = {
        f"{kind.kind}/{name}": obj["metadata"]["annotations"]["lessor.dev/ends"]
        for (kind, space, name), obj in world.api.objects.items()
        if LEASE in (space, name) and "lessor.dev/ends" in (obj["metadata"].get("annotations") or {})
    }
    assert set(ends.values()) == {"2026-11-28T20:00:00+00:00"}
    assert {*PIECES, "StatefulSet/workspace", "PersistentVolumeClaim/data"} == set(ends)


def test_what_nobody_made_has_no_end(world: Beginning) -> None:
    with pytest.raises(PermanentError, match=f"no namespace {LEASE}") as caught:
        ownership.set_end(world.site, LEASE, ENDS)
    assert caught.value.code == "none-seen"


def test_a_new_owner_is_let_in_instead_and_what_was_handed_out_ends(world: Beginning) -> None:
    world.lease(world.order())
    before = world.obj(SERVICE_ACCOUNT, "lessor-access")["metadata"]["uid"]
    ownership.set_owner(world.site, LEASE, "U0OTHER", "équipe vision", "4711")
    after = world.obj(SERVICE_ACCOUNT, "lessor-access")["metadata"]["uid"]
    assert after != before
    assert [one["name"] for one in world.obj(ROLE_BINDING, "lessor-access")["subjects"]] == [
        "lessor-access",
        "oidc:ben@x.test",
    ]
    for kind, name in [(NAMESPACE, LEASE), (RESOURCE_QUOTA, "lessor"), (SERVICE_ACCOUNT, "lessor-access")]:
        meta = world.obj(kind, name)["metadata"]
        assert meta["annotations"]["lessor.dev/owner"] == "U0OTHER"
        assert meta["annotations"]["lessor.dev/team"] == "équipe vision"
        assert meta["annotations"]["lessor.dev/cost-center"] == "4711"
        assert meta["labels"]["lessor.dev/team"].startswith("equipe-vision-")
    ownership.set_owner(world.site, LEASE, "U0OTHER", "équipe vision", "4711")
    assert world.obj(SERVICE_ACCOUNT, "lessor-access")["metadata"]["uid"] == after


def test_somebody_more_is_let_in_without_ending_anybodys_access(world: Beginning) -> None:
    world.lease(world.order())
    before = world.obj(SERVICE_ACCOUNT, "lessor-access")["metadata"]["uid"]
    ownership.set_owner(world.site, LEASE, "U0REQUESTER", "ml", "cc-7", ("U0OTHER",))
    assert world.obj(SERVICE_ACCOUNT, "lessor-access")["metadata"]["uid"] == before
    names = [one["name"] for one in world.obj(ROLE_BINDING, "lessor-access")["subjects"]]
    assert names == ["lessor-access", "oidc:ana@x.test", "oidc:lea@x.test", "oidc:ben@x.test"]


def test_an_owner_who_has_to_go_goes_whatever_dies_in_between(world: Beginning) -> None:
    world.lease(world.order())
    before = world.obj(SERVICE_ACCOUNT, "lessor-access")["metadata"]["uid"]
    for verb, kind in [("delete", SERVICE_ACCOUNT), ("apply", SERVICE_ACCOUNT), ("patch", ROLE_BINDING)]:
        world.api.fail(verb, kind)
        with pytest.raises(RetryableError):
            ownership.set_owner(world.site, LEASE, "U0OTHER", "vision", "4711")
        world.api.faults.clear()
    ownership.set_owner(world.site, LEASE, "U0OTHER", "vision", "4711")
    assert world.obj(SERVICE_ACCOUNT, "lessor-access")["metadata"]["uid"] != before
    names = [one["name"] for one in world.obj(ROLE_BINDING, "lessor-access")["subjects"]]
    assert names == ["lessor-access", "oidc:ben@x.test", "oidc:vic@x.test"]
