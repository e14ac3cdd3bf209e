"""How lessor gets into a cluster and stays in: credentials in all their forms, renewed, and in no message."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from kmock import RawHandler, Request

from lessor.ports import RetryableError
from lessor.providers.kubernetes import api as kinds
from lessor.providers.kubernetes import sessions
from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.place import KubernetesPlace
from tests.providers.kube_mock import POD, PROGRAM, MockCluster, Response, listed, mocked, refused

pytestmark = pytest.mark.kmock(cls=RawHandler)


@pytest.fixture
def mock(kmock: RawHandler, tmp_path: Path) -> MockCluster:
    return mocked(kmock, tmp_path)


async def test_a_token_file_is_read_again(mock: MockCluster) -> None:
    path = mock.home / "token"
    path.write_text("first\n")
    cluster = mock.cluster({"tokenFile": str(path)})
    mock.answers = [listed("Pod", POD)]
    await asyncio.to_thread(cluster.list, kinds.POD)
    path.write_text("second")
    await asyncio.to_thread(cluster.list, kinds.POD)
    mock.now += timedelta(minutes=1)
    await asyncio.to_thread(cluster.list, kinds.POD)
    assert mock.tokens == ["first", "first", "second"]


async def test_a_token_that_cannot_be_sent_is_said_and_not_shown(mock: MockCluster) -> None:
    path = mock.home / "token"
    path.write_text("our-own\nsecret")
    with pytest.raises(RetryableError, match="a token of several lines") as caught:
        await asyncio.to_thread(mock.cluster({"tokenFile": str(path)}).list, kinds.POD)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_a_token_that_was_replaced_early_is_read_again_when_it_is_refused(mock: MockCluster) -> None:
    path = mock.home / "token"
    path.write_text("first")
    cluster = mock.cluster({"tokenFile": str(path)})

    def only_second(request: Request) -> Response:
        return listed("Pod", POD) if request.headers["Authorization"] == "Bearer second" else refused(401)

    mock.answers = [only_second]
    path.write_text("second")
    assert len(await asyncio.to_thread(cluster.list, kinds.POD)) == 1


async def test_credentials_are_used_to_their_end_when_there_are_no_new_ones_yet(mock: MockCluster) -> None:
    (mock.home / "until").write_text((mock.now + timedelta(minutes=15)).isoformat())
    cluster = mock.cluster()
    mock.answers = [listed("Pod", POD)]
    await asyncio.to_thread(cluster.list, kinds.POD)
    mock.program("import sys; sys.exit(1)")
    mock.now += timedelta(minutes=14, seconds=30)
    await asyncio.to_thread(cluster.list, kinds.POD)
    assert mock.tokens == ["token-1", "token-1"]
    mock.now += timedelta(seconds=30)
    with pytest.raises(RetryableError, match="ended with 1"):
        await asyncio.to_thread(cluster.list, kinds.POD)
    mock.program()
    await asyncio.to_thread(cluster.list, kinds.POD)
    assert mock.tokens == ["token-1", "token-1", "token-2"]


async def test_the_account_of_the_pod_is_used_in_the_cluster(
    mock: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("of the account")
    (tmp_path / "ca.crt").write_text("authority")
    monkeypatch.setattr(sessions, "ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    cluster = Cluster(KubernetesPlace("lab", in_cluster=True), lambda: mock.now)
    assert await asyncio.to_thread(cluster.endpoint) == ("https://10.0.0.1:443", "authority")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(RetryableError, match="host/port is not set"):
        await asyncio.to_thread(Cluster(KubernetesPlace("lab", in_cluster=True), lambda: mock.now).endpoint)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import sys; sys.exit(3)", "ended with 3"),
        ("print('token: hunter2')", "printed no credentials"),
        ("print('{}')", "printed no credentials"),
        ("print('[1]')", "printed no credentials"),
        ("import sys; sys.stderr.write('hunter2'); sys.exit(1)", "ended with 1"),
    ],
)
async def test_a_program_without_credentials_makes_us_no_stranger(mock: MockCluster, source: str, why: str) -> None:
    cluster = mock.cluster(mock.program(source))
    mock.answers = [listed("Pod")]
    with pytest.raises(RetryableError, match=why) as caught:
        await asyncio.to_thread(cluster.list, kinds.POD)
    assert mock.asked == []
    assert "hunter2" not in str(caught.value)


async def test_a_program_gets_what_it_needs_and_none_of_our_own_secrets(
    mock: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")
    monkeypatch.setenv("AWS_PROFILE", "lab")
    user = mock.program(
        f"import json, os, pathlib; pathlib.Path('seen').write_text(json.dumps(dict(os.environ)))\n{PROGRAM}"
    )
    user["exec"] |= {"provideClusterInfo": True, "env": [{"name": "REGION", "value": "eu"}]}
    mock.answers = [listed("Pod", POD)]
    await asyncio.to_thread(mock.cluster(user).list, kinds.POD)
    seen = json.loads((mock.home / "seen").read_text())
    assert (seen["AWS_PROFILE"], seen["REGION"], "SLACK_BOT_TOKEN" in seen) == ("lab", "eu", False)
    assert json.loads(seen["KUBERNETES_EXEC_INFO"]) == {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": mock.url}},
    }


async def test_a_program_that_hangs_is_given_up(mock: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "PROGRAM_LIMIT", timedelta(seconds=0.2))
    cluster = mock.cluster(mock.program("import time; time.sleep(20)"))
    with pytest.raises(RetryableError, match="took longer than") as caught:
        await asyncio.to_thread(cluster.list, kinds.POD)
    # The history keeps causes too, and that of a limit of time would have the arguments, such as a client's secret.
    assert caught.value.__cause__ is None


async def test_a_certificate_of_a_program_is_used(mock: MockCluster) -> None:
    answer = {"clientCertificateData": "the certificate", "clientKeyData": "the key"}
    words = sessions._in_words_of_kubeconfig(answer)
    assert {name: base64.b64decode(text) for name, text in words.items()} == {
        "client-certificate-data": b"the certificate",
        "client-key-data": b"the key",
    }


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda path: path.unlink(), "there is no kubeconfig"),
        (lambda path: path.write_text("{}"), "contexts"),
        (lambda path: path.write_text(": :\n- ["), "cannot be reached"),
    ],
)
async def test_a_spoilt_kubeconfig_is_said_and_nothing_is_empty(
    mock: MockCluster, spoil: Callable[[Path], object], why: str
) -> None:
    cluster = mock.cluster({"token": "t"})
    spoil(mock.home / "kubeconfig")
    with pytest.raises(RetryableError, match=why):
        await asyncio.to_thread(cluster.list, kinds.POD)
