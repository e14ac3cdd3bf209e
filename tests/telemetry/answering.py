"""A server that answers a query as the test says, for everything that a good Prometheus never does."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

EMPTY = '{"status":"success","data":{"resultType":"vector","result":[]}}'


@dataclass
class Answers:
    """What every query gets: `pause` waits before each byte of a body, `cut` leaves so many bytes of it out."""

    status: int = 200
    body: str = EMPTY
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    cut: int = 0
    ahead: float = 0.0
    asked: list[tuple[str, dict[str, str], dict[str, list[str]]]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def answering(answers: Answers, tls: tuple[Path, Path] | None = None) -> Iterator[str]:
    """Answer so for as long as the block lasts; the address. `tls` are the files of a certificate and its key."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(answers))
    server.daemon_threads = True
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    finally:
        answers.over.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


def _handler(answers: Answers) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            answers.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, form))
            body = answers.body.encode()
            self.send_response_only(answers.status)
            self.send_header("Date", formatdate(time.time() + answers.ahead, usegmt=True))
            for name, value in {"Content-Type": "application/json", **answers.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.close_connection = True
            self.end_headers()
            self._send(body[: len(body) - answers.cut])

        def _send(self, body: bytes) -> None:
            if not answers.pause:
                self.wfile.write(body)
                return
            for position in range(len(body)):
                if answers.over.wait(answers.pause):
                    return
                try:
                    self.wfile.write(body[position : position + 1])
                except OSError:
                    return

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on the terminal of the tests."""

    return Handler
