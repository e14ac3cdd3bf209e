"""What a cluster is asked before a lease depends on it, beside the rights of case D15."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lessor.providers.kubernetes.api import CLUSTER_QUEUE, RAY_CLUSTER, RESOURCE_CLAIM, ApiKind
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.rights import check
from tests.providers.kube_fake import FakeApi

QUEUED = KubernetesPlace("lab", cluster_queue="gpus")
NO_KUEUE = "put leases into the queue gpus: the cluster has no Kueue"
NO_QUEUE = "put leases into the queue gpus: the cluster has no ClusterQueue of that name"


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_queue_that_is_not_there_is_told_before_anybody_waits_in_it(version: str) -> None:
    kind = replace(CLUSTER_QUEUE, version=version)
    api = FakeApi()
    assert check(api, QUEUED).missing == (NO_KUEUE,)
    api.extra.add(kind)
    assert check(api, QUEUED).missing == (NO_QUEUE,)
    api.add({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "gpus"}, "spec": {}})
    assert check(api, QUEUED).fine
    assert check(FakeApi(), KubernetesPlace("lab")).fine


@pytest.mark.parametrize(("kind", "version"), [(RESOURCE_CLAIM, "v1beta1"), (RAY_CLUSTER, "v1alpha1")])
def test_rights_on_a_kind_are_asked_for_in_whatever_version_the_cluster_has_it(kind: ApiKind, version: str) -> None:
    there = replace(kind, version=version)
    (lacking,) = check(FakeApi(extra={there}, denied={("list", kind)}), KubernetesPlace("lab")).missing
    assert lacking.startswith(f"list {kind.plural}.{kind.group} in every namespace")
