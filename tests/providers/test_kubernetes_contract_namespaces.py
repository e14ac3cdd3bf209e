"""The provider contract, for namespaces on a real API server with the shipped rights, and what only that can show.

Workspaces are in a file of their own; one worker runs both on one cluster (tests/spreading.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from lessor.domain.checkup import Checkup
from lessor.domain.request import LeaseKind, Need
from lessor.ports import PermanentError, ProviderError, RetryableError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes import paging
from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.rights import CLUSTER_ROLE
from tests.builders import LEASE_ID
from tests.kube.ground import HERE, RealGround
from tests.kube.nodes import until
from tests.providers.attempts import silent
from tests.providers.contract import ProviderContract, Subject
from tests.providers.kube_world import PLACE, KubeWorld, subject_of
from tests.providers.lives import create


@pytest.mark.kube
@pytest.mark.timeout(600)
class TestRealNamespaces(ProviderContract):
    @pytest.fixture
    def subject(self, busy_ground: RealGround) -> Subject:
        world = KubeWorld(busy_ground, LeaseKind.NAMESPACE, HERE)
        return subject_of(world, at_once=20, **busy_ground.new_leases())


@pytest.mark.kube
@pytest.mark.timeout(600)
class TestRealServer:
    """What only a real API server can show: that what lessor sends means what it is meant to."""

    def test_the_shipped_role_is_all_that_is_needed(self, real_ground: RealGround) -> None:
        world = KubeWorld(real_ground, place=HERE)
        assert world.provider().checkup(PLACE) == Checkup("lab")

    def test_a_right_that_is_taken_away_is_named(self, real_ground: RealGround) -> None:
        role = real_ground.admin.get(CLUSTER_ROLE, "lessor")
        assert role is not None
        rules = [rule for rule in role["rules"] if rule["resources"] != ["nodes"]]
        try:
            real_ground.admin.patch(CLUSTER_ROLE, "lessor", "", {"rules": rules})
            until(lambda: not KubeWorld(real_ground, place=HERE).provider().checkup(PLACE).fine)
            found = KubeWorld(real_ground, place=HERE).provider().checkup(PLACE)
        finally:
            real_ground.admin.patch(CLUSTER_ROLE, "lessor", "", {"rules": role["rules"]})
        assert found.missing == ("list nodes in the cluster: to see what GPUs there are",)
        until(lambda: KubeWorld(real_ground, place=HERE).provider().checkup(PLACE).fine)

    def test_lists_are_read_to_their_last_page(self, real_ground: RealGround, monkeypatch: pytest.MonkeyPatch) -> None:
        cluster = real_ground.cluster(HERE)
        whole = [one["metadata"]["uid"] for one in cluster.list(kinds.NAMESPACE)]
        monkeypatch.setattr(paging, "PAGE", 2)
        assert [one["metadata"]["uid"] for one in cluster.list(kinds.NAMESPACE)] == whole
        assert len(whole) > 4

    def test_a_token_that_does_not_hold_any_more_is_no_empty_cluster(self, real_ground: RealGround) -> None:
        path = real_ground.server.kubeconfig_of("no-token-of-this-cluster", "stranger")
        cluster = Cluster(HERE, real_ground.now, str(path))
        with pytest.raises(RetryableError) as caught:
            cluster.list(kinds.POD)
        assert caught.value.code == "unauthorized"

    def test_a_namespace_lease_from_its_key_to_its_end(self, real_ground: RealGround) -> None:
        """Two GPUs: two pods run, a third one is refused; what is stopped stays so, starts again, and goes."""
        world = KubeWorld(real_ground, place=HERE)
        provider, order = world.provider(), world.order(need=Need("A100-80GB", 2))
        made = create(provider, order)
        theirs = real_ground.holder(provider.credentials(LEASE_ID, PLACE, silent).text)
        theirs.create(deployment(LEASE_ID, replicas=3))
        until(lambda: running(real_ground) == 2)
        with pytest.raises(PermanentError) as caught:
            theirs.list(kinds.POD, "default")
        assert caught.value.code == "forbidden"

        provider.stop(LEASE_ID, PLACE, silent)
        assert running(real_ground) == 0
        theirs.patch(kinds.DEPLOYMENT, "trainer", LEASE_ID, {"spec": {"replicas": 1}})
        real_ground.sleep(5)
        assert running(real_ground) == 0

        provider.start(LEASE_ID, PLACE, silent)
        until(lambda: running(real_ground) == 2)
        provider.delete(LEASE_ID, PLACE, made.resources, silent)
        assert world.existing(LEASE_ID) == []
        # The server believes a token for ten seconds more; from the first on it has no right to anything.
        assert refused(theirs) in ("forbidden", "unauthorized")
        until(lambda: refused(theirs) == "unauthorized")


def refused(theirs: Cluster) -> str:
    """With what code their list of pods is refused."""
    with pytest.raises(ProviderError) as caught:
        theirs.list(kinds.POD, LEASE_ID)
    return caught.value.code


def running(ground: RealGround) -> int:
    """Pods of the lease that hold a GPU."""
    pods = ground.admin.list(kinds.POD, LEASE_ID, fields="status.phase=Running")
    return len([pod for pod in pods if not pod["metadata"].get("deletionTimestamp")])


def deployment(namespace: str, replicas: int) -> dict[str, Any]:
    """A workload of people's own, one GPU for each pod, that a careful cluster lets in."""
    container = {
        "name": "trainer",
        "image": "registry.example.test/trainer:1",
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    secure = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
    labels = {"app": "trainer"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "trainer", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "securityContext": secure, "terminationGracePeriodSeconds": 1},
            },
        },
    }
