"""How a cluster is reached: what is said when it gives no answer."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from kmock import RawHandler, Request

from lessor.ports import PermanentError, ProviderError, RetryableError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.rights import wanted
from tests.packaging.test_docs import ROOT
from tests.providers.kube_mock import POD, MockCluster, Response, listed, mocked, refused, said, slow

TRAINER = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trainer", "namespace": "gpu-00000001"}}
CORE = said(200, {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True}]})


pytestmark = pytest.mark.kmock(cls=RawHandler)


@pytest.fixture
def mock(kmock: RawHandler, tmp_path: Path) -> MockCluster:
    return mocked(kmock, tmp_path)


@pytest.mark.parametrize(
    ("code", "kind", "word"),
    [
        (429, RetryableError, "throttled"),
        (500, RetryableError, "no-result"),
        (503, RetryableError, "no-result"),
        (504, RetryableError, "no-result"),
        (403, PermanentError, "forbidden"),
        (400, PermanentError, "invalid"),
        (422, PermanentError, "invalid"),
        (409, PermanentError, "conflict"),
    ],
)
async def test_refusals_are_sorted_and_never_empty(
    mock: MockCluster, code: int, kind: type[ProviderError], word: str
) -> None:
    cluster = mock.cluster()
    mock.answers = [refused(code, "the reason", Retry_After="7")]
    for call in (
        lambda: cluster.get(kinds.POD, "trainer", "gpu-00000001"),
        lambda: cluster.list(kinds.POD),
        lambda: cluster.delete(kinds.POD, "trainer", "gpu-00000001", "u-1"),
        lambda: cluster.may("list", kinds.POD),
        lambda: cluster.served(kinds.NODE),
    ):
        with pytest.raises(kind, match="the reason") as caught:
            await asyncio.to_thread(call)
        assert caught.value.code == word
        assert "lab" in str(caught.value)


async def test_nothing_is_tried_twice_unseen(mock: MockCluster) -> None:
    cluster = mock.cluster()
    mock.answers = [refused(429, "later", Retry_After="1"), listed("Pod", POD)]
    with pytest.raises(RetryableError, match="asks to wait for 1 s"):
        await asyncio.to_thread(cluster.list, kinds.POD)
    assert len(mock.asked) == 1


async def test_only_the_servers_own_word_says_that_something_is_absent(mock: MockCluster) -> None:
    cluster = mock.cluster()
    absent = {"kind": "Status", "code": 404, "reason": "NotFound", "details": {"name": "trainer", "kind": "pods"}}
    mock.answers = [said(404, absent)]
    assert await asyncio.to_thread(cluster.get, kinds.POD, "trainer", "gpu-00000001") is None
    assert await asyncio.to_thread(cluster.delete, kinds.POD, "trainer", "gpu-00000001", "u-1") is False

    mock.answers = [refused(404, "404 of a proxy on the way"), CORE]
    with pytest.raises(RetryableError, match="answered 404 for a kind that it has"):
        await asyncio.to_thread(cluster.get, kinds.POD, "trainer", "gpu-00000001")

    mock.answers = [refused(404, "page not found")]
    with pytest.raises(PermanentError, match="does not have the kind LocalQueue") as caught:
        await asyncio.to_thread(cluster.list, kinds.LOCAL_QUEUE)
    assert caught.value.code == "not-served"


async def test_kinds_are_remembered_for_a_while_and_their_absence_for_less(mock: MockCluster) -> None:
    cluster = mock.cluster()
    mock.answers = [refused(404, "page not found")]
    assert await asyncio.to_thread(cluster.served, kinds.LOCAL_QUEUE) is False
    mock.answers = [said(200, {"resources": [{"name": "localqueues", "kind": "LocalQueue", "namespaced": True}]})]
    assert await asyncio.to_thread(cluster.served, kinds.LOCAL_QUEUE) is False
    mock.now += timedelta(seconds=30)
    assert await asyncio.to_thread(cluster.served, kinds.LOCAL_QUEUE) is True
    mock.now += timedelta(minutes=4)
    assert await asyncio.to_thread(cluster.served, kinds.LOCAL_QUEUE) is True
    assert len(mock.asked) == 2


async def test_an_answer_that_takes_too_long_is_none(mock: MockCluster) -> None:
    cluster = mock.cluster(timeout=0.05)

    def late(_: Request) -> Response:
        return Response(status=200, payload=slow(0.5))

    mock.answers = [late]
    with pytest.raises(RetryableError, match=r"no answer in time.*what is there is unknown") as caught:
        await asyncio.to_thread(cluster.list, kinds.POD)
    assert caught.value.code == "no-answer"
    with pytest.raises(RetryableError, match="it may have been done all the same"):
        await asyncio.to_thread(cluster.delete, kinds.POD, "trainer", "gpu-00000001", "u-1")


async def test_a_cluster_that_is_not_there_is_unknown(mock: MockCluster) -> None:
    mock.url = "http://127.0.0.1:1"
    with pytest.raises(RetryableError, match=r"gave no answer when reading pods \(no connection\)"):
        await asyncio.to_thread(mock.cluster().list, kinds.POD)


async def test_an_answer_that_is_cut_off_is_none(mock: MockCluster) -> None:
    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"kind": "PodList", "items": [')
        writer.close()

    server = await asyncio.start_server(cut, "127.0.0.1", 0)
    mock.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        with pytest.raises(RetryableError, match="the connection was cut"):
            await asyncio.to_thread(mock.cluster().list, kinds.POD)


async def test_a_server_that_cannot_prove_who_it_is_is_no_cluster(mock: MockCluster) -> None:
    mock.url = mock.url.replace("http:", "https:")
    with pytest.raises(RetryableError, match="its certificate or protocol was refused"):
        await asyncio.to_thread(mock.cluster().list, kinds.POD)


@pytest.mark.parametrize("text", [b"", b"<html>welcome</html>", b"[]", b"null"])
async def test_what_is_no_answer_of_an_api_server_is_unknown(mock: MockCluster, text: bytes) -> None:
    cluster = mock.cluster()
    mock.answers = [Response(status=200, payload=text)]
    for call in (lambda: cluster.list(kinds.POD), lambda: cluster.get(kinds.POD, "trainer", "gpu-00000001")):
        with pytest.raises(RetryableError):
            await asyncio.to_thread(call)


@pytest.mark.parametrize(
    "body",
    [
        {"items": []},
        {"kind": "Status", "items": []},
        {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "items": []},
        {"kind": "NodeList", "apiVersion": "metrics.k8s.io/v1", "items": []},
    ],
)
async def test_an_empty_answer_of_another_kind_is_no_empty_cluster(mock: MockCluster, body: dict[str, object]) -> None:
    mock.answers = [said(200, body)]
    cluster = mock.cluster()
    with pytest.raises(RetryableError, match="sent no list when reading pods; what is there is unknown"):
        await asyncio.to_thread(cluster.list, kinds.POD)
    with pytest.raises(RetryableError, match="sent something else when reading Pod gpu-00000001/trainer"):
        await asyncio.to_thread(cluster.get, kinds.POD, "trainer", "gpu-00000001")


async def test_an_empty_list_may_leave_out_what_it_has_none_of(mock: MockCluster) -> None:
    mock.answers = [said(200, {"kind": "PodList", "apiVersion": "v1", "metadata": None, "items": None})]
    assert await asyncio.to_thread(mock.cluster().list, kinds.POD) == ()


async def test_what_is_being_deleted_already_is_no_conflict(mock: MockCluster) -> None:
    cluster = mock.cluster()
    going = {"uid": "u-9", "name": "gpu-00000001", "deletionTimestamp": "2026-11-28T12:00:00Z"}
    refusal = refused(409, "The system is ensuring all content is removed from this namespace", "Conflict")
    mock.answers = [refusal, said(200, {"kind": "Namespace", "metadata": going})]
    assert await asyncio.to_thread(cluster.delete, kinds.NAMESPACE, "gpu-00000001", "", "u-9") is True
    gone = {"kind": "Status", "reason": "NotFound", "details": {"name": "gpu-00000001"}}
    mock.answers = [refusal, said(404, gone)]
    assert await asyncio.to_thread(cluster.delete, kinds.NAMESPACE, "gpu-00000001", "", "u-9") is False
    for other in ({**going, "uid": "u-10"}, {"uid": "u-10", "name": "gpu-00000001"}):
        mock.answers = [refusal, said(200, {"kind": "Namespace", "metadata": other})]
        with pytest.raises(PermanentError) as caught:
            await asyncio.to_thread(cluster.delete, kinds.NAMESPACE, "gpu-00000001", "", "u-9")
        assert caught.value.code == "conflict"


async def test_a_change_that_others_were_faster_with_is_tried_again(mock: MockCluster) -> None:
    cluster = mock.cluster()
    mock.answers = [refused(409, "the object has been modified; please apply your changes to it", "Conflict")]
    with pytest.raises(RetryableError) as caught:
        await asyncio.to_thread(cluster.patch, kinds.NAMESPACE, "gpu-00000001", "", {"metadata": {}}, "u-9")
    assert caught.value.code == "contended"


async def test_a_quota_and_an_ending_namespace_are_no_lack_of_rights(mock: MockCluster) -> None:
    cluster = mock.cluster()
    mock.answers = [CORE, refused(403, "pods x is forbidden: exceeded quota: lessor, requested: 1", "Forbidden")]
    with pytest.raises(PermanentError) as caught:
        await asyncio.to_thread(cluster.create, TRAINER)
    assert caught.value.code == "quota"
    cause = {"reason": "NamespaceTerminating", "message": "is being terminated"}
    mock.answers = [said(403, {"kind": "Status", "reason": "Forbidden", "details": {"causes": [cause]}})]
    with pytest.raises(PermanentError) as caught:
        await asyncio.to_thread(cluster.create, TRAINER)
    assert caught.value.code == "terminating"


# -- what is sent -----------------------------------------------------------------------------------------------------


async def test_deletions_name_the_very_object_and_are_never_forced(mock: MockCluster, kmock: RawHandler) -> None:
    cluster = mock.cluster({"token": "t"})
    mock.answers = [said(200, {"kind": "Status", "status": "Success"})]
    assert await asyncio.to_thread(cluster.delete, kinds.POD, "trainer", "gpu-00000001", "u-1") is True
    delete = cluster.delete
    assert await asyncio.to_thread(lambda: delete(kinds.NAMESPACE, "gpu-00000001", "", "u-9", foreground=True)) is True
    first, second = (request.data for request in kmock)
    assert first == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u-1"},
        "propagationPolicy": "Background",
    }
    assert second == {**first, "preconditions": {"uid": "u-9"}, "propagationPolicy": "Foreground"}
    assert [path for _, path, *_ in mock.asked] == [
        "/api/v1/namespaces/gpu-00000001/pods/trainer",
        "/api/v1/namespaces/gpu-00000001",
    ]


async def test_a_token_is_in_no_error(mock: MockCluster) -> None:
    cluster = mock.cluster({"token": "our-own-secret"})
    answers = {"status": {"token": "their-secret", "expirationTimestamp": "2026-11-28T20:00:00Z"}}
    mock.answers = [said(201, answers)]
    found = await asyncio.to_thread(cluster.token, "gpu-00000001", "lessor", timedelta(hours=8))
    assert found == ("their-secret", datetime(2026, 11, 28, 20, tzinfo=UTC))
    for without in ({}, {"expirationTimestamp": "soon"}):
        mock.answers = [said(201, {"status": {"token": "their-secret", **without}})]
        with pytest.raises(RetryableError, match="handed out no token") as caught:
            await asyncio.to_thread(cluster.token, "gpu-00000001", "lessor", timedelta(hours=8))
        assert "secret" not in str(caught.value)


def test_the_shipped_role_is_what_is_asked_for() -> None:
    role = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "cluster-role.yaml").read_text())
    shipped = {
        (group, resource, verb, name)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    asked = {
        (right.kind.group, f"{right.kind.plural}{f'/{right.sub}' if right.sub else ''}", verb, right.name)
        for right in wanted(KubernetesPlace("lab"))
        for verb in right.verbs
    }
    assert shipped == asked
    assert not {word for right in shipped for word in right if "*" in word}
    assert not {resource for _, resource, *_ in shipped} & {"secrets", "pods/exec", "pods/attach"}
