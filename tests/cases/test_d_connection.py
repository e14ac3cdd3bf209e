"""Cases D12, D14, D15: a cluster that forgets its list, ends our credentials, or does not let us read."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from kmock import RawHandler, Request

from lessor.ports import PermanentError, RetryableError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.rights import check
from tests.providers.kube_fake import FakeApi
from tests.providers.kube_mock import POD, MockCluster, Response, listed, mocked, refused, said

OTHER = {"metadata": {"name": "server", "namespace": "gpu-00000001", "uid": "u-2"}}
FORBIDDEN = 'pods is forbidden: User "system:anonymous" cannot list resource "pods" at the cluster scope'


pytestmark = pytest.mark.kmock(cls=RawHandler)


@pytest.fixture
def mock(kmock: RawHandler, tmp_path: Path) -> MockCluster:
    return mocked(kmock, tmp_path)


async def test_D12_watch_answer_gone(mock: MockCluster) -> None:
    """The pages of a list are all of one version: when it has expired, what was read of it is thrown away."""
    cluster = mock.cluster()
    mock.answers = [listed("Pod", POD, more="page-2"), refused(410, "too old", "Expired"), listed("Pod", OTHER)]
    pods = await asyncio.to_thread(cluster.list, kinds.POD)
    assert [pod["metadata"]["name"] for pod in pods] == ["server"]
    assert [query.get("continue") for *_, query in mock.asked] == [None, "page-2", None]

    mock.answers = [refused(410, "too old", "Expired")]
    with pytest.raises(RetryableError, match="unknown"):
        await asyncio.to_thread(cluster.list, kinds.POD)

    error = {"kind": "Status", "apiVersion": "v1", "code": 410, "message": "too old resource version"}
    mock.answers = [said(200, error)]
    with pytest.raises(RetryableError, match="sent no list"):
        await asyncio.to_thread(cluster.list, kinds.POD)


async def test_D14_token_of_a_long_lived_process_expires(mock: MockCluster) -> None:
    """Tokens of 15 minutes, a list a minute for two hours: none fails, and each token is used until it is renewed."""
    cluster, ends = mock.cluster(), dict[str, datetime]()

    def by_the_token(request: Request) -> Response:
        token = request.headers.get("Authorization", "")
        fresh = mock.now < ends.setdefault(token, mock.now + timedelta(minutes=15))
        return listed("Pod", POD) if fresh else refused(401, "Unauthorized", "Unauthorized")

    mock.answers = [by_the_token]
    for _ in range(120):
        (mock.home / "until").write_text((mock.now + timedelta(minutes=15)).isoformat())
        assert len(await asyncio.to_thread(cluster.list, kinds.POD)) == 1
        mock.now += timedelta(minutes=1)
    assert len(mock.tokens) == 120
    assert list(ends) == [f"Bearer token-{n}" for n in range(1, 10)]


@pytest.mark.parametrize(
    "stranger", [refused(401, "Unauthorized", "Unauthorized"), refused(403, FORBIDDEN, "Forbidden")]
)
async def test_D14_a_refusal_as_a_stranger_renews_the_token_and_is_never_empty(
    mock: MockCluster, stranger: Response
) -> None:
    cluster = mock.cluster()
    mock.answers = [stranger, listed("Pod", POD)]
    assert len(await asyncio.to_thread(cluster.list, kinds.POD)) == 1
    assert mock.tokens == ["token-1", "token-2"]

    mock.answers = [stranger]
    with pytest.raises(RetryableError, match="does not know us") as caught:
        await asyncio.to_thread(cluster.list, kinds.POD)
    assert caught.value.code == "unauthorized"
    assert mock.tokens == ["token-1", "token-2", "token-2", "token-3"]


async def test_D15_forbidden_read_as_nothing_to_do(mock: MockCluster) -> None:
    cluster = mock.cluster()
    mock.answers = [refused(403, 'pods is forbidden: User "lessor" cannot list resource "pods"', "Forbidden")]
    with pytest.raises(PermanentError, match="unknown") as caught:
        await asyncio.to_thread(cluster.list, kinds.POD)
    assert caught.value.code == "forbidden"
    with pytest.raises(PermanentError, match="Pod gpu-00000001/trainer"):
        await asyncio.to_thread(cluster.get, kinds.POD, "trainer", "gpu-00000001")


def test_D15_missing_rights_are_listed_by_cluster_and_namespace() -> None:
    about = {"name": "gpu-00000001", "labels": {"lessor.dev/managed-by": "lessor"}}
    api = FakeApi(denied={("list", kinds.POD), ("patch", kinds.NAMESPACE)})
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": about})
    found = check(api, KubernetesPlace("lab"))
    assert found.place == "lab"
    assert found.missing == (
        "patch namespaces in the cluster: leases have namespaces of their own",
        "list pods in every namespace: to see who holds GPUs",
    )


def test_D15_a_cluster_that_does_not_answer_is_a_problem_and_not_fine() -> None:
    api = FakeApi()
    api.fail("may", error=RetryableError("cluster lab gave no answer"), times=None)
    found = check(api, KubernetesPlace("lab"))
    assert (found.fine, found.missing, found.problem) == (False, (), "cluster lab gave no answer")
