"""The small page that each declared port of a simulated pod shows."""

from __future__ import annotations

from html import escape

from lessor.sandbox.kubernetes.inside.containers import Inside

_END = b"\r\n\r\n"
_LONGEST = 64 * 1024
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{pod} (simulated)</title></head>
<body><h1>{pod}</h1>
<p>This is the simulator's page on port {port} of a pod in which nothing runs. In a real cluster the image
<code>{image}</code> would answer here.</p>
<p>Namespace {namespace}, container {container}, on {node}: {held}.</p></body></html>
"""


class Visit:
    """One connection to a port: the first request on it is answered with the page, and the connection ends."""

    def __init__(self, inside: Inside, port: int) -> None:
        self._inside, self._port = inside, port
        self._head = b""

    def received(self, data: bytes) -> bytes:
        """The answer, as soon as the head of a request is whole."""
        self._head = (self._head + data)[:_LONGEST]
        if _END not in self._head and len(self._head) < _LONGEST:
            return b""
        method = self._head.partition(b" ")[0]
        if method not in (b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"):
            return _answer("400 Bad Request", "text/plain", b"this port speaks HTTP\n")
        answered = _answer("200 OK", "text/html", self._page().encode())
        return answered.partition(_END)[0] + _END if method == b"HEAD" else answered

    def _page(self) -> str:
        it = self._inside
        told = {"pod": it.pod, "image": it.image, "namespace": it.namespace, "container": it.container, "node": it.node}
        return _PAGE.format(
            port=self._port, held=escape(it.held()), **{name: escape(text) for name, text in told.items()}
        )


def _answer(status: str, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body
