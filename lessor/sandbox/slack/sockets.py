"""Socket Mode: tickets, WebSocket connections, envelopes out and acknowledgements in."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import secrets
from dataclasses import dataclass
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from lessor.sandbox.slack import limits
from lessor.sandbox.slack.clock import Clock, in_time
from lessor.sandbox.slack.delivery import EVENT, Ack, Attempt

Json = dict[str, Any]


@dataclass(eq=False)
class _Connection:
    number: int
    socket: WebSocket


class Sockets:
    """The open connections of the app. Envelopes go round them in turn, a retry to another one than before."""

    def __init__(self, app_id: str, clock: Clock) -> None:
        self._app_id = app_id
        self._clock = clock
        self._tickets: dict[str, float] = {}
        self._connections: list[_Connection] = []
        self._leaving: list[_Connection] = []
        self._numbers = itertools.count(1)
        self._turn = 0
        self._waiting: dict[str, list[asyncio.Future[Json | None]]] = {}
        self._changed = asyncio.Event()

    def ticket(self) -> str:
        """A single-use ticket for one connection, good for half a minute."""
        ticket = secrets.token_hex(16)
        self._tickets[ticket] = self._clock.now() + limits.SOCKET_TICKET_SECONDS
        return ticket

    @property
    def count(self) -> int:
        return len(self._connections)

    async def wait_for(self, connections: int, seconds: float) -> None:
        """Return once that many connections are open; raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while self.count < connections:
                self._changed.clear()
                await self._changed.wait()

    async def serve(self, socket: WebSocket) -> None:
        """Hold one connection until it closes."""
        expires = self._tickets.pop(socket.query_params.get("ticket", ""), 0.0)
        if self._clock.now() > expires or self.count >= limits.SOCKET_CONNECTIONS:
            await socket.close(code=1008)
            return
        await socket.accept()
        connection = _Connection(next(self._numbers), socket)
        self._connections.append(connection)
        await socket.send_json(self._hello(connection))
        self._changed.set()
        try:
            while True:
                self._receive(await socket.receive_text())
        except WebSocketDisconnect:
            pass
        finally:
            for known in (self._connections, self._leaving):
                if connection in known:
                    known.remove(connection)
            self._changed.set()

    async def attempt(self, attempt: Attempt) -> Ack:
        """Send one envelope over the next connection and wait up to three seconds for its acknowledgement."""
        connection = self._next()
        if connection is None:
            return Ack("dispatch_failed")
        answer: asyncio.Future[Json | None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(attempt.envelope_id, []).append(answer)
        try:
            await connection.socket.send_json(_envelope(attempt))
        except (WebSocketDisconnect, RuntimeError):
            return Ack("dispatch_failed")
        answered = await in_time(self._clock, answer, limits.ACK_SECONDS)
        waiting = self._waiting.get(attempt.envelope_id, [])
        if answer in waiting:
            waiting.remove(answer)
        if not waiting:
            self._waiting.pop(attempt.envelope_id, None)
        payload = answer.result() if answered else None
        return Ack("operation_timeout") if payload is None else Ack(payload=payload)

    async def disconnect(self, reason: str = "refresh_requested") -> int:
        """Ask every connection to come back on a new one, as Slack does now and then; gives how many.

        The old ones get nothing more; the client closes them, and until it has they can still acknowledge.
        """
        asked = self._take_all()
        self._leaving += asked
        for connection in asked:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await connection.socket.send_json(
                    {"type": "disconnect", "reason": reason, "debug_info": {"host": "sandbox"}}
                )
        return len(asked)

    async def drop(self) -> int:
        """Break every connection without a word; gives how many."""
        dropped = self._take_all()
        for connection in [*dropped, *self._leaving]:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await connection.socket.close()
        return len(dropped)

    async def close(self) -> None:
        """Break every connection and stop waiting for acknowledgements."""
        await self.drop()
        for answer in [answer for answers in self._waiting.values() for answer in answers]:
            if not answer.done():
                answer.set_result(None)

    def _take_all(self) -> list[_Connection]:
        taken, self._connections = self._connections, []
        return taken

    def _receive(self, text: str) -> None:
        try:
            message = json.loads(text)
        except ValueError:
            return
        waiting = self._waiting.get(message.get("envelope_id", ""), [])
        answer = next((one for one in waiting if not one.done()), None)
        if answer is not None:
            answer.set_result(message.get("payload") or {})

    def _next(self) -> _Connection | None:
        if not self._connections:
            return None
        self._turn += 1
        return self._connections[self._turn % len(self._connections)]

    def _hello(self, connection: _Connection) -> Json:
        return {
            "type": "hello",
            "num_connections": self.count,
            "connection_info": {"app_id": self._app_id},
            "debug_info": {"host": f"sandbox-{connection.number}", "approximate_connection_time": 18060},
        }


def _envelope(attempt: Attempt) -> Json:
    envelope: Json = {
        "envelope_id": attempt.envelope_id,
        "type": attempt.kind,
        "accepts_response_payload": attempt.accepts_payload,
        "payload": attempt.payload,
    }
    if attempt.kind == EVENT:
        envelope |= {"retry_attempt": attempt.number, "retry_reason": attempt.reason}
    return envelope
