"""Ways into pods over WebSockets: the channels of `kubectl exec`, and the tunnel of `kubectl port-forward`.

The first byte of a message is its channel: 0 to 2 are the standard streams, 3 tells how it ended, 4 resizes the
terminal, and 255 (from v5 on) closes the channel that its second byte names.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import WSMessage, WSMsgType, web

from lessor.sandbox.kubernetes.inside.entering import EXEC, Entering
from lessor.sandbox.kubernetes.inside.forwarding import Channels, Tunnel
from lessor.sandbox.kubernetes.inside.shell import Session

_V5, _V4, _TUNNEL = "v5.channel.k8s.io", "v4.channel.k8s.io", "SPDY/3.1+portforward.k8s.io"
_STDIN, _STATUS, _CLOSE = 0, 3, 255
_LOOK_EVERY = 0.5
"""Seconds between two looks whether the container still runs."""
_KILLED = 137


async def opened(request: web.Request, entering: Entering) -> web.StreamResponse:
    """Serve one way in until either side ends it."""
    known = (_V5, _V4) if entering.sub == EXEC else (_TUNNEL, _V4)
    asked = [one.strip() for one in request.headers.get("sec-websocket-protocol", "").split(",")]
    if not set(asked) & set(known):
        return web.json_response(_refusal(asked, known), status=400)
    socket = web.WebSocketResponse(protocols=known, autoping=True)
    await socket.prepare(request)
    if entering.sub == EXEC:
        await _run(socket, entering)
    else:
        await _forward(socket, entering)
    await socket.close()
    return socket


async def _run(socket: web.WebSocketResponse, entering: Entering) -> None:
    session = Session(entering.inside, entering.command, entering.now, tty=entering.tty)
    written = list(session.begin())
    if session.ended is None and not entering.stdin:
        written += session.closed()
    await _write(socket, entering, written)
    while session.ended is None:
        message = await _next(socket, entering)
        if message is None:
            if not socket.closed:
                await socket.send_bytes(bytes([_STATUS]) + _ended(_KILLED))
            return
        await _write(socket, entering, _heard(session, message.data))
    await socket.send_bytes(bytes([_STATUS]) + _ended(session.ended))


def _heard(session: Session, data: bytes) -> list[tuple[int, bytes]]:
    if data[:1] == bytes([_STDIN]):
        return list(session.typed(data[1:]))
    return list(session.closed()) if data == bytes([_CLOSE, _STDIN]) else []


async def _write(socket: web.WebSocketResponse, entering: Entering, written: list[tuple[int, bytes]]) -> None:
    for stream, data in written:
        if stream in entering.streams:
            await socket.send_bytes(bytes([stream]) + data)


async def _forward(socket: web.WebSocketResponse, entering: Entering) -> None:
    spoken: Tunnel | Channels = Tunnel(entering.inside)
    if socket.ws_protocol == _V4:
        spoken = Channels(entering.inside, entering.ports)
        for data in spoken.begin():
            await socket.send_bytes(data)
    while message := await _next(socket, entering):
        try:
            for data in spoken.received(message.data):
                await socket.send_bytes(data)
        except ValueError as wrong:
            await socket.close(code=1002, message=str(wrong).encode()[:120])
            return


async def _next(socket: web.WebSocketResponse, entering: Entering) -> WSMessage | None:
    """The next message with data in it; None once the caller has gone or the container has ended."""
    while entering.lasts():
        try:
            message = await socket.receive(timeout=_LOOK_EVERY)
        except TimeoutError:
            continue
        if message.type == WSMsgType.BINARY and message.data:
            return message
        if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR):
            return None
    return None


def _ended(code: int) -> bytes:
    status: dict[str, Any] = {"metadata": {}, "status": "Success"}
    if code:
        text = f"command terminated with non-zero exit code: exit code {code}"
        causes = [{"reason": "ExitCode", "message": str(code)}]
        status |= {"status": "Failure", "message": text, "reason": "NonZeroExitCode", "details": {"causes": causes}}
    return json.dumps(status).encode()


def _refusal(asked: list[str], known: tuple[str, ...]) -> dict[str, Any]:
    spoken = f"{', '.join(known)} are spoken here"
    text = f"{spoken}, and {', '.join(asked)} was asked for" if any(asked) else f"{spoken}, and none was asked for"
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return status | {"message": text, "reason": "BadRequest", "code": 400}
