"""What only looks like ours when a lease is taken down: kept, and told by name (law 3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from lessor.domain.resource import Condition, Kind, Resource
from lessor.providers.kubernetes import inventory
from lessor.providers.kubernetes.api import CLAIM, NAMESPACE, STATEFUL_SET
from lessor.providers.kubernetes.ours import identity
from tests.providers.kube_ends import BEGIN, LABELS, LEASE, Leased, space


def test_one_that_was_made_again_under_the_name_on_record_is_foreign_whoever_seems_to_have_made_it(
    leased: Leased,
) -> None:
    before = replace(leased.record, id=f"{LEASE}@11111111-0000-4000-8000-000000000000")
    assert leased.refused(before).code == "not-ours"
    assert leased.writes() == []
    sighting = inventory.look(leased.site, LEASE, [before])
    assert sighting.foreign == (f"namespace:{identity(leased.space)}",)
    leased.delete(before, leased.record)
    assert leased.api.existing(LEASE) == []


def test_one_that_a_launch_without_an_answer_may_have_made_is_ours(leased: Leased) -> None:
    """Case B27: an earlier attempt is on record, the one after it died before its answer came."""
    before = replace(leased.record, id=f"{LEASE}@11111111-0000-4000-8000-000000000000")
    intent = Resource(Kind.INSTANCE, "", token="t", created_at=BEGIN - timedelta(seconds=2))
    leased.delete(before, intent)
    assert leased.api.existing(LEASE) == []
    late = replace(intent, created_at=BEGIN + timedelta(hours=1))
    again = Leased()
    assert again.refused(before, late).code == "not-ours"


def test_copies_of_our_labels_elsewhere_are_kept_and_everything_else_goes(leased: Leased) -> None:
    leased.api.apply(space("sandbox", BEGIN) | {"metadata": {"name": "sandbox"}})
    meta = {"labels": LABELS}
    copies = [
        leased.add(kind, "copy", "sandbox", metadata=dict(meta), spec={"replicas": 0, "suspend": True, **claim})
        for kind, claim in ((STATEFUL_SET, {}), (CLAIM, {"resources": {"requests": {"storage": "1Gi"}}}))
    ]
    error = leased.refused()
    assert [identity(copy) in str(error) for copy in copies] == [True, True]
    assert (NAMESPACE, "", LEASE) not in leased.api.objects
    assert leased.left() == [
        (f"workload:{identity(copies[0])}", Condition.RUNNING),
        (f"claim:{identity(copies[1])}", Condition.RUNNING),
    ]


def test_a_namespace_on_record_whose_label_somebody_took_off_is_shown_and_left_alone(leased: Leased) -> None:
    leased.obj(NAMESPACE, LEASE)["metadata"]["labels"] = {}
    assert inventory.look(leased.site, LEASE).clean
    assert leased.left(leased.record) == [(f"namespace:{identity(leased.space)}", Condition.RUNNING)]
    assert leased.refused(leased.record).code == "not-ours"
    assert leased.writes() == []
