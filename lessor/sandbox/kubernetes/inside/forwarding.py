"""`kubectl port-forward`: connections to the ports of a pod, each a pair of streams, for data and for errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lessor.sandbox.kubernetes.inside import spdy
from lessor.sandbox.kubernetes.inside.containers import Inside
from lessor.sandbox.kubernetes.inside.page import Visit

_ERROR, _DATA = "error", "data"


class Tunnel:
    """Connections as frames of SPDY. They may come in any order, and stay as long as they want."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._frames = spdy.Frames()
        self._errors: dict[str, int] = {}
        """Streams for what goes wrong, by the connection that they are about."""
        self._visits: dict[int, tuple[str, Visit]] = {}

    def received(self, data: bytes) -> Iterator[bytes]:
        """What is to be sent for what came in. Raises `ValueError` for what is no SPDY."""
        for event in self._frames.received(data):
            if isinstance(event, spdy.Opened):
                yield self._frames.accepted(event.stream)
                yield from self._opened(event)
            elif isinstance(event, spdy.Data):
                yield from self._data(event)
            elif isinstance(event, spdy.Reset):
                self._visits.pop(event.stream, None)
            else:
                yield event.frame

    def _opened(self, event: spdy.Opened) -> Iterator[bytes]:
        connection, port = event.headers.get("requestid", ""), int(event.headers.get("port") or 0)
        if event.headers.get("streamtype") == _ERROR:
            self._errors[connection] = event.stream
        elif event.headers.get("streamtype") == _DATA:
            if port in self._inside.ports:
                self._visits[event.stream] = connection, Visit(self._inside, port)
            else:
                yield from self._ended(event.stream, connection, refusal(self._inside, port))

    def _data(self, event: spdy.Data) -> Iterator[bytes]:
        if event.stream not in self._visits:
            return
        connection, visit = self._visits[event.stream]
        said = visit.received(event.data)
        if said:
            yield spdy.sent(event.stream, said)
        if said or event.last:
            del self._visits[event.stream]
            yield from self._ended(event.stream, connection)

    def _ended(self, stream: int, connection: str, wrong: str = "") -> Iterator[bytes]:
        error = self._errors.pop(connection, None)
        if error is not None:
            yield spdy.sent(error, wrong.encode(), last=True)
        yield spdy.sent(stream, last=True)


class Channels:
    """One connection for each port as the older way has it: channels 2n and 2n + 1 are data and errors of the nth."""

    def __init__(self, inside: Inside, ports: Sequence[int]) -> None:
        self._inside, self._ports = inside, ports
        self._visits = [Visit(inside, port) if port in inside.ports else None for port in ports]

    def begin(self) -> Iterator[bytes]:
        """Each channel first says which port it is for."""
        for at, port in enumerate(self._ports):
            for channel in (2 * at, 2 * at + 1):
                yield bytes([channel]) + port.to_bytes(2, "little")
            if self._visits[at] is None:
                yield bytes([2 * at + 1]) + refusal(self._inside, port).encode()

    def received(self, message: bytes) -> Iterator[bytes]:
        at, error = divmod(message[0], 2)
        visit = self._visits[at] if not error and at < len(self._visits) else None
        said = visit.received(message[1:]) if visit else b""
        if said:
            yield message[:1] + said


def refusal(inside: Inside, port: int) -> str:
    """What is told of a port on which nothing listens."""
    ports = ", ".join(str(one) for one in sorted(inside.ports)) or "none"
    return f"connect: connection refused: nothing listens on port {port} of {inside.pod} (simulated; ports: {ports})"
