"""`kubectl exec` in the simulated cluster: by its channels and by the official client, as far as RBAC lets one."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest
from kubernetes import client
from kubernetes.stream import stream

from lessor.sandbox.kubernetes import RunningCluster
from lessor.sandbox.kubernetes.answering import Answer, answer
from lessor.sandbox.kubernetes.calls import Call
from tests.sandbox.kubernetes.entrances import POD, entered, official

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
SUCCESS = {"metadata": {}, "status": "Success"}


async def told(socket: aiohttp.ClientWebSocketResponse) -> dict[int, bytes]:
    """Everything until the end, by channel."""
    found: dict[int, bytes] = {}
    async with asyncio.timeout(60):
        async for message in socket:
            found[message.data[0]] = found.get(message.data[0], b"") + message.data[1:]
    return found


async def test_a_command_is_run_and_its_end_is_told(running: RunningCluster) -> None:
    async with entered(running, "exec?command=ls&command=/&stdout=true&stderr=true", V5) as socket:
        found = await told(socket)
    assert found.pop(1) == b"SIMULATED.txt\n"
    assert {at: json.loads(data) for at, data in found.items()} == {3: SUCCESS}


async def test_an_exit_code_is_told_as_kubectl_reads_it(running: RunningCluster) -> None:
    async with entered(running, "exec?command=sh&command=-c&command=exit+3&stdout=true", V4) as socket:
        found = await told(socket)
    assert json.loads(found[3]) == {
        "metadata": {},
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": "command terminated with non-zero exit code: exit code 3",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }


async def test_what_is_typed_is_read_until_its_channel_is_closed(running: RunningCluster) -> None:
    async with entered(running, "exec?command=sh&stdin=true&stdout=true", V5) as socket:
        await socket.send_bytes(b"\x04" + json.dumps({"Width": 80, "Height": 24}).encode())
        await socket.send_bytes(b"\x00hostname\n")
        assert (await socket.receive(timeout=60)).data == b"\x01train\n"
        await socket.send_bytes(b"\x00foo\npwd")
        await socket.send_bytes(b"\xff\x00")
        found = await told(socket)
    assert found.pop(1) == b"/\n"
    assert {at: json.loads(data) for at, data in found.items()} == {3: SUCCESS}


async def test_a_session_ends_with_its_pod(running: RunningCluster) -> None:
    async with entered(running, "exec?command=sh&stdin=true&stdout=true&tty=true", V5) as socket:
        assert b"This container is simulated" in (await socket.receive(timeout=60)).data
        running.delete("Pod", "train", "work")
        running.settle()
        found = await told(socket)
    assert json.loads(found[3])["details"]["causes"] == [{"reason": "ExitCode", "message": "137"}]


def test_the_official_client_gets_in(running: RunningCluster) -> None:
    with official(running) as api:
        core = client.CoreV1Api(api)
        command = ["sh", "-c", "nvidia-smi -L; foo"]
        opened = stream(
            core.connect_get_namespaced_pod_exec, "train", "work", command=command, stdout=True, stderr=True,
            stdin=False, tty=False, _preload_content=False,
        )  # fmt: skip
        opened.run_forever(timeout=60)
        assert opened.read_stdout() == "GPU 0: NVIDIA-A100-SXM4-80GB (simulated)\n"
        assert opened.read_stderr().startswith("foo: not found. This container is simulated")
        assert opened.returncode == 127
        opened.sock.shutdown()


def asked(lab: RunningCluster, headers: dict[str, str], query: dict[str, str]) -> Answer:
    """The answer to a wish to get in, before anything is opened."""
    own = {"authorization": f"Bearer {lab.cluster.accounts.admin()}"}
    return answer(lab.cluster, Call("GET", f"{POD}/exec", query, own | headers))


@pytest.mark.parametrize(
    ("headers", "query", "code", "message"),
    [
        ({}, {"command": "ls"}, 400, "Upgrade request required"),
        ({"upgrade": "SPDY/3.1"}, {"command": "ls"}, 400, "the simulated cluster opens this over WebSockets alone"),
        ({"upgrade": "websocket"}, {}, 400, "you must specify at least one command"),
        ({"upgrade": "websocket"}, {"command": "ls", "container": "b"}, 400, "container b is not valid for pod train"),
    ],
)
def test_what_is_no_way_in_is_refused_in_words(
    running: RunningCluster, headers: dict[str, str], query: dict[str, str], code: int, message: str
) -> None:
    given = asked(running, headers, query)
    assert (given.code, given.body["message"][: len(message)]) == (code, message)


def test_there_is_no_way_into_what_does_not_run(running: RunningCluster) -> None:
    running.change("Pod", "train", {"metadata": {"annotations": {"sandbox.lessor.dev/runs-for": "1"}}}, "work")
    running.advance(minutes=1)
    given = asked(running, {"upgrade": "websocket"}, {"command": "ls"})
    assert (given.code, given.body["reason"]) == (500, "InternalError")
    assert given.body["message"] == 'unable to upgrade connection: container not found ("main")'


async def test_other_protocols_are_refused_with_those_that_are_spoken(running: RunningCluster) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with entered(running, "exec?command=ls", "base64.channel.k8s.io"):
            pass
    assert refused.value.status == 400


def test_who_may_only_look_does_not_get_in(running: RunningCluster) -> None:
    """Also by GET, as WebSockets begin: it is asked for the right to create, as since Kubernetes 1.35."""
    codes = {}
    for role, verbs in (("view", ["get", "list"]), ("get", ["get"]), ("edit", ["get", "create"])):
        rule = {"apiGroups": [""], "resources": ["pods/exec" if role != "view" else "pods"], "verbs": verbs}
        running.create("Role", {"metadata": {"name": role}, "rules": [rule]}, "work")
        running.create("ServiceAccount", {"metadata": {"name": role}}, "work")
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role}
        subjects = [{"kind": "ServiceAccount", "name": role, "namespace": "work"}]
        binding = {"metadata": {"name": role}, "roleRef": reference, "subjects": subjects}
        running.create("RoleBinding", binding, "work")
        account = running.get("ServiceAccount", role, "work")
        token = running.cluster.accounts.issue(account, 600)[0]  # type: ignore[arg-type]
        codes[role] = asked(
            running, {"upgrade": "websocket", "authorization": f"Bearer {token}"}, {"command": "ls"}
        ).code
    assert codes == {"view": 403, "get": 403, "edit": 101}
