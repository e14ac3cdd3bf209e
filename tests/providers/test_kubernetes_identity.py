"""A kubeconfig that comes to mean another cluster: no lease is there, and none of them is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from kmock import RawHandler, Request

from lessor.ports import RetryableError
from lessor.providers.kubernetes import api as kinds
from tests.providers.kube_mock import POD, MockCluster, Response, listed, mocked, refused, said

pytestmark = pytest.mark.kmock(cls=RawHandler)

OURS, LEASE = "u-ours", "gpu-00000001"


@pytest.fixture
def mock(kmock: RawHandler, tmp_path: Path) -> MockCluster:
    return mocked(kmock, tmp_path)


def being(mock: MockCluster, uid: str) -> None:
    """The cluster is the one with this uid, and has no lease."""

    def answer(request: Request) -> Response:
        if request.url.path == "/api/v1/namespaces/kube-system":
            meta = {"name": "kube-system", "uid": uid}
            return said(200, {"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        if request.url.path.startswith("/api/v1/namespaces/"):
            details = {"details": {"name": LEASE}, "message": "no", "reason": "NotFound", "code": 404}
            return said(404, {"kind": "Status", "status": "Failure", **details})
        return listed("Pod", POD)

    mock.answers = [answer]


async def test_what_another_cluster_does_not_have_is_unknown(mock: MockCluster) -> None:
    cluster = mock.cluster(uid=OURS)
    being(mock, "u-other")
    with pytest.raises(RetryableError, match=r"another cluster answers in the place of lab.*uid u-other") as caught:
        await asyncio.to_thread(cluster.get, kinds.NAMESPACE, LEASE)
    assert caught.value.code == "another-cluster"
    with pytest.raises(RetryableError, match="what is there is unknown, nothing was changed"):
        await asyncio.to_thread(cluster.delete, kinds.POD, "trainer", LEASE, "u-1")
    assert {verb for verb, *_ in mock.asked} == {"GET"}


async def test_the_right_one_is_asked_once_for_each_renewal(mock: MockCluster) -> None:
    cluster = mock.cluster(uid=OURS)
    being(mock, OURS)
    for _ in range(3):
        assert await asyncio.to_thread(cluster.get, kinds.NAMESPACE, LEASE) is None
    assert len(mock.asked) == 4
    same, *_ = mock.answers
    mock.answers = [refused(401, "Unauthorized", "Unauthorized"), same]
    assert len(await asyncio.to_thread(cluster.list, kinds.POD)) == 1
    assert [path.rpartition("/")[2] for _, path, *_ in mock.asked[4:]] == ["pods", "kube-system", "pods"]


async def test_a_stranger_is_told_no_name_and_comes_again_with_new_credentials(mock: MockCluster) -> None:
    cluster = mock.cluster(uid=OURS)
    being(mock, OURS)
    same, *_ = mock.answers
    mock.answers = [refused(401, "Unauthorized", "Unauthorized"), same]
    assert len(await asyncio.to_thread(cluster.list, kinds.POD)) == 1
    mock.answers = [refused(401, "Unauthorized", "Unauthorized")]
    with pytest.raises(RetryableError, match="does not know us") as caught:
        await asyncio.to_thread(mock.cluster(uid=OURS).list, kinds.POD)
    assert caught.value.code == "unauthorized"


async def test_without_a_uid_nobody_asks(mock: MockCluster) -> None:
    being(mock, "u-other")
    assert await asyncio.to_thread(mock.cluster().get, kinds.NAMESPACE, LEASE) is None
    assert len(mock.asked) == 1
