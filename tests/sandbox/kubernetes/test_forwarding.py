"""`kubectl port-forward` to the simulated cluster: SPDY in a WebSocket, as kubectl has it, and the older channels."""

from __future__ import annotations

import asyncio
import http.client
import struct
import time
import zlib
from collections.abc import Callable, Iterator

import pytest
from aiohttp import ClientWebSocketResponse
from kubernetes import client
from kubernetes.stream import portforward

from lessor.sandbox.kubernetes import RunningCluster
from lessor.sandbox.kubernetes.inside import spdy
from lessor.sandbox.kubernetes.inside.forwarding import Tunnel
from tests.sandbox.kubernetes.entrances import entered, official
from tests.sandbox.kubernetes.test_shell import A100

TUNNEL, V4 = "SPDY/3.1+portforward.k8s.io", "v4.channel.k8s.io"
REQUEST = b"GET /lab HTTP/1.1\r\nhost: localhost\r\n\r\n"
REFUSED = "connect: connection refused: nothing listens on port 9999 of train (simulated; ports: 8888)"
REPLY, DATA = "reply", "data"
Sent = tuple[str, int, bytes, bool]


class Kubectl:
    """The client's end of a tunnel."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(zdict=spdy.DICTIONARY)

    def opens(self, stream: int, **headers: str) -> bytes:
        pairs = [part.encode() for pair in headers.items() for part in pair]
        plain = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(one)) + one for one in pairs)
        block = self._headers.compress(plain) + self._headers.flush(zlib.Z_SYNC_FLUSH)
        return struct.pack(">HHIIIH", 0x8003, 1, 10 + len(block), stream, 0, 0) + block

    def connects(self, port: int, first: int = 1, connection: str = "0") -> bytes:
        """A stream for errors, of which the client's half is closed at once, and one for data."""
        about = {"port": str(port), "requestid": connection}
        errors = self.opens(first, streamtype="error", **about) + self.sends(first, b"", last=True)
        return errors + self.opens(first + 2, streamtype="data", **about)

    def sends(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        return struct.pack(">IB", stream, int(last)) + len(data).to_bytes(3) + data


def frames(data: bytes) -> Iterator[Sent]:
    while data:
        length = int.from_bytes(data[5:8])
        frame, data = data[: 8 + length], data[8 + length :]
        if frame[:2] == b"\x80\x03":
            yield REPLY, int.from_bytes(frame[8:12]), frame[2:4], False
        else:
            yield DATA, int.from_bytes(frame[:4]), frame[8:], bool(frame[4])


def test_the_dictionary_is_that_of_the_protocol() -> None:
    """zlib names a dictionary by its checksum, and refuses another."""
    assert (len(spdy.DICTIONARY), zlib.adler32(spdy.DICTIONARY)) == (1423, 0xE3C6A7C2)


async def test_a_page_comes_through_the_tunnel(running: RunningCluster) -> None:
    kubectl = Kubectl()
    async with entered(running, "portforward", TUNNEL) as socket:
        await socket.send_bytes(kubectl.connects(8888))
        await socket.send_bytes(kubectl.sends(3, REQUEST))
        found = await _received(socket, 5)
    assert found[:2] == [(REPLY, 1, b"\x00\x02", False), (REPLY, 3, b"\x00\x02", False)]
    assert found[2][:2] == (DATA, 3)
    assert found[2][2].startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"This is the simulator's page on port 8888 of a pod in which nothing runs." in found[2][2]
    assert found[3:] == [(DATA, 1, b"", True), (DATA, 3, b"", True)]


async def test_a_port_on_which_nothing_listens_is_an_error_of_that_connection(running: RunningCluster) -> None:
    kubectl = Kubectl()
    async with entered(running, "portforward", TUNNEL) as socket:
        await socket.send_bytes(kubectl.connects(9999))
        found = await _received(socket, 4)
        assert found[2:] == [(DATA, 1, REFUSED.encode(), True), (DATA, 3, b"", True)]
        await socket.send_bytes(kubectl.connects(8888, 5, "1") + kubectl.sends(7, REQUEST))
        assert (await _received(socket, 5))[2][2].startswith(b"HTTP/1.1 200 OK\r\n")


async def test_the_tunnel_ends_with_its_pod(running: RunningCluster) -> None:
    async with entered(running, "portforward", TUNNEL) as socket:
        running.delete("Pod", "train", "work")
        running.settle()
        async with asyncio.timeout(60):
            assert [one async for one in socket] == []


def test_the_official_client_is_forwarded(running: RunningCluster) -> None:
    with official(running) as api:
        core = client.CoreV1Api(api)
        forwarded = portforward(core.connect_get_namespaced_pod_portforward, "train", "work", ports="8888,9999")
        connection = http.client.HTTPConnection("localhost")
        connection.sock = forwarded.socket(8888)
        connection.sock.setblocking(True)
        connection.request("GET", "/")
        answer = connection.getresponse()
        page = answer.read(int(answer.headers["content-length"])).decode()
        assert (answer.status, "<h1>train</h1>" in page) == (200, True)
        assert forwarded.error(9999) == REFUSED
        connection.close()
        forwarded.close()
        _until(lambda: not forwarded.connected)


def test_frames_may_be_cut_anywhere_and_pings_come_back() -> None:
    tunnel, kubectl = Tunnel(A100), Kubectl()
    ping = struct.pack(">HHII", 0x8003, 6, 4, 7)
    settings = struct.pack(">HHII", 0x8003, 4, 4, 0)
    data = settings + ping + kubectl.connects(8888) + kubectl.sends(3, REQUEST[:9]) + kubectl.sends(3, REQUEST[9:])
    found = b"".join(one for at in range(len(data)) for one in tunnel.received(data[at : at + 1]))
    assert found.startswith(ping)
    assert [one[:2] for one in frames(found[len(ping) :])] == [(REPLY, 1), (REPLY, 3), (DATA, 3), (DATA, 1), (DATA, 3)]


def test_a_connection_that_is_given_up_gets_no_answer() -> None:
    tunnel, kubectl = Tunnel(A100), Kubectl()
    list(tunnel.received(kubectl.connects(8888) + struct.pack(">HHIII", 0x8003, 3, 8, 3, 5)))
    assert list(tunnel.received(kubectl.sends(3, REQUEST))) == []


def test_a_connection_that_says_nothing_is_closed_with_its_other_half() -> None:
    tunnel, kubectl = Tunnel(A100), Kubectl()
    list(tunnel.received(kubectl.connects(8888)))
    closed = b"".join(tunnel.received(kubectl.sends(3, b"", last=True)))
    assert list(frames(closed)) == [(DATA, 1, b"", True), (DATA, 3, b"", True)]


@pytest.mark.parametrize(
    "data", [struct.pack(">HHII", 0x8002, 1, 4, 1), struct.pack(">HHI", 0x8003, 1, 14) + b"x" * 14]
)
def test_what_is_no_spdy_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no SPDY/3\.1|headers cannot be read"):
        list(Tunnel(A100).received(data))


def test_what_is_no_http_is_told_so() -> None:
    tunnel, kubectl = Tunnel(A100), Kubectl()
    list(tunnel.received(kubectl.connects(8888)))
    (_, _, said, _), *_ = frames(b"".join(tunnel.received(kubectl.sends(3, b"SSH-2.0-x\r\n\r\n"))))
    assert said.startswith(b"HTTP/1.1 400 Bad Request\r\n")


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("not seen in time")


async def _received(socket: ClientWebSocketResponse, count: int) -> list[Sent]:
    found: list[Sent] = []
    while len(found) < count:
        found += frames((await socket.receive(timeout=60)).data)
    return found
