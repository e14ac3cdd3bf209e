"""What looks like the lease's or nobody's, and is somebody's: in doubt nothing is taken or thrown away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lessor.contracts import NOT_STOPPABLE
from lessor.domain.request import LeaseKind
from lessor.domain.resource import Condition, Kind
from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import capacity, inventory, lifecycle, removal, usable
from lessor.providers.kubernetes.api import CLAIM, DEPLOYMENT, JOB, LIMIT_RANGE, NAMESPACE, POD, RESOURCE_QUOTA
from tests.providers.kube_ends import BEGIN, GPU, LABELS, LEASE, Leased, space
from tests.providers.kube_fake import Refusing
from tests.providers.kube_leases import Beginning
from tests.providers.kube_nodes import a_full_house, a_site, the_pool

AFTER_END = BEGIN + timedelta(hours=9)


def test_an_owner_that_does_not_call_itself_the_controller_is_an_owner() -> None:
    leased = Leased(now=AFTER_END)
    keeper = leased.add(LIMIT_RANGE, "keeper", spec={})
    owner = {"apiVersion": "acme.test/v1", "kind": "Trainer", "name": "run", "uid": keeper["metadata"]["uid"]}
    spec = {"containers": [{"name": "main", **GPU}]}
    leased.add(POD, "run-0", metadata={"ownerReferences": [owner]}, spec=spec)
    with pytest.raises(PermanentError, match="Trainer run is of a kind that lessor does not know") as caught:
        lifecycle.stop(leased.site, LEASE, leased.beat)
    assert (caught.value.code, leased.pods(), leased.api.deleted) == (NOT_STOPPABLE, ["run-0"], [])


def test_a_claim_with_copied_labels_is_kept_for_its_time_like_any_other_of_people() -> None:
    leased = Leased(now=AFTER_END)
    leased.claim("results")
    leased.obj(CLAIM, "results")["metadata"]["labels"] = {"lessor.dev/managed-by": "lessor"}
    inventory.attribute(leased.site, leased.beat)
    assert leased.obj(CLAIM, "results")["metadata"]["labels"] == LABELS
    with pytest.raises(PermanentError, match=f"claim {LEASE}/results") as caught:
        removal.delete(leased.site, LEASE, [leased.record], leased.beat)
    assert (caught.value.code, leased.api.deleted) == ("kept", [])


@pytest.mark.parametrize(
    "scope",
    [
        {"scopes": ["BestEffort"]},
        {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}},
    ],
)
def test_a_quota_for_some_pods_only_takes_nothing_from_what_a_lease_is_promised(scope: dict[str, object]) -> None:
    api = a_full_house("gpu-00000002")
    before = the_pool(capacity.census(a_site(api)), "A100-80GB")
    meta = {"name": "low", "namespace": "gpu-00000002"}
    spec = {"hard": {"requests.nvidia.com/gpu": "0"}, **scope}
    api.add({"apiVersion": "v1", "kind": RESOURCE_QUOTA.kind, "metadata": meta, "spec": spec}, "kubectl")
    after = the_pool(capacity.census(a_site(api)), "A100-80GB")
    assert (after.promised, after.free) == (before.promised, before.free)
    assert before.promised


def test_D15_the_watch_calls_a_namespace_that_it_may_not_read_unknown_and_goes_on() -> None:
    leased, other = Leased(), "gpu-00000003"
    leased.api.apply(space(other, AFTER_END))
    lifecycle.stop(leased.site, LEASE, leased.beat)
    lifecycle.stop(leased.site, other, leased.beat)

    def seen(*refused: str) -> list[tuple[str, Condition, str]]:
        site = replace(leased.site, api=Refusing(leased.api, {"", *refused}))  # type: ignore[arg-type]
        found = [one for one in inventory.conditions(site) if one.kind is Kind.NAMESPACE]
        return [(one.lease, one.condition, one.reason) for one in found]

    assert seen() == [(other, Condition.STOPPED, ""), (LEASE, Condition.STOPPED, "")]
    why = f"pods in {LEASE} are forbidden"
    assert seen(LEASE) == [(other, Condition.STOPPED, ""), (LEASE, Condition.UNKNOWN, why)]
    with pytest.raises(PermanentError, match="pods everywhere are forbidden"):
        seen(LEASE, other)


@pytest.mark.parametrize("spoilt", ["nonsense", '"many"', "-1", "true", "null", "{}"])
def test_a_note_of_the_former_size_that_somebody_has_spoilt_keeps_nothing_stopped(spoilt: str) -> None:
    leased = Leased()
    leased.run(DEPLOYMENT, "train", replicas=3)
    leased.run(JOB, "fit")
    lifecycle.stop(leased.site, LEASE, leased.beat)
    for kind, name in ((DEPLOYMENT, "train"), (JOB, "fit")):
        leased.obj(kind, name)["metadata"]["annotations"]["lessor.dev/replicas"] = spoilt
    lifecycle.start(leased.site, LEASE, leased.beat)
    assert leased.obj(DEPLOYMENT, "train")["spec"]["replicas"] == 1
    assert not leased.obj(JOB, "fit")["spec"].get("suspend") or spoilt == "true"


def test_B13_a_note_that_somebody_else_was_faster_with_is_read_again() -> None:
    leased = Leased()
    leased.api.fail("patch", NAMESPACE, RetryableError("the object has been modified", "contended"))
    assert lifecycle.stop(leased.site, LEASE, leased.beat) == BEGIN
    assert leased.obj(NAMESPACE, LEASE)["metadata"]["annotations"]["lessor.dev/stopped-at"] == BEGIN.isoformat()


def test_a_workspace_whose_pod_was_evicted_is_not_starting() -> None:
    world = Beginning()
    order = world.order(kind=LeaseKind.WORKSPACE)
    made = world.launch(order)
    world.api.list(POD)
    why = "Evicted: the node was low on memory"
    when = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "2026-11-28T09:00:00Z"}
    evicted = {"phase": "Failed", "reason": why[:7], "message": why[9:], "conditions": [when]}
    told: list[str] = []

    def beat(what: str) -> None:
        told.append(what)

    world.obj(POD, "workspace-0")["status"] = dict(evicted)
    with pytest.raises(PermanentError, match=rf"did not start .* {why}"):
        usable.await_usable(world.site, order, made, beat)
    assert f"waiting for {LEASE}: its pod has ended ({why})" in told
    assert world.api.existing(LEASE) == []
