"""A cluster that answers as a test tells it to, over HTTP: for what a good server never does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from kmock import RawHandler, Request
from kmock import Response as Response  # type: ignore[attr-defined]  # noqa: PLC0414

from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.place import KubernetesPlace

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
POD = {"metadata": {"name": "trainer", "namespace": "gpu-00000001", "uid": "u-1"}, "status": {"phase": "Running"}}
PROGRAM = """
import json, pathlib, sys
home = pathlib.Path(sys.argv[1])
count = int((home / "count").read_text()) + 1 if (home / "count").exists() else 1
(home / "count").write_text(str(count))
status = {"token": f"token-{count}"}
if (home / "until").exists():
    status["expirationTimestamp"] = (home / "until").read_text()
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""
"""Hands out the tokens token-1, token-2, ... that end when the file `until` says, or do not say when."""


def listed(kind: str = "Pod", *items: Mapping[str, Any], more: str = "") -> Response:
    """A page of a list; with `more` there is another one behind that token."""
    return said(200, {"kind": f"{kind}List", "metadata": {"continue": more}, "items": list(items)})


def refused(code: int, message: str = "no", reason: str = "", **headers: str) -> Response:
    """What an API server says when it does not do it."""
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return said(code, body, **headers)


def said(code: int, body: Mapping[str, Any], **headers: str) -> Response:
    return Response(status=code, payload=dict(body), headers={n.replace("_", "-"): v for n, v in headers.items()})


@dataclass
class MockCluster:
    """`answers` are given in turn, the last one for ever; each is an answer or a function of the request.

    `asked` is every request: verb, path, the bearer's token, the query. The clock stands still unless it is moved.
    """

    home: Path
    url: str
    answers: list[Response | Callable[[Request], Response]] = field(default_factory=list)
    asked: list[tuple[str, str, str, dict[str, str]]] = field(default_factory=list)
    now: datetime = NOW

    async def answer(self, request: Request) -> Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.asked.append((str(request.method.value), request.url.path, token, dict(request.params)))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(request) if callable(answer) and not isinstance(answer, Response) else answer

    @property
    def tokens(self) -> list[str]:
        return [token for _, _, token, _ in self.asked]

    def cluster(self, user: Mapping[str, Any] | None = None, timeout: float = 30, uid: str = "") -> Cluster:
        """The product's way into it, as somebody with these credentials: a program that hands them out, by default."""
        path = self.home / "kubeconfig"
        path.write_text(yaml.safe_dump(self._kubeconfig(user or self.program())))
        place = KubernetesPlace("lab", context="lab", timeout=timedelta(seconds=timeout), uid=uid)
        return Cluster(place, lambda: self.now, str(path))

    def program(self, source: str = PROGRAM) -> dict[str, Any]:
        (self.home / "credentials.py").write_text(source)
        arguments = ["-I", "-S", "credentials.py", str(self.home)]
        version = "client.authentication.k8s.io/v1"
        return {"exec": {"apiVersion": version, "command": sys.executable, "args": arguments}}

    def _kubeconfig(self, user: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {"server": self.url}}],
            "users": [{"name": "us", "user": dict(user)}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "us"}}],
        }


def mocked(kmock: RawHandler, home: Path) -> MockCluster:
    """A cluster behind the test's `kmock` server."""
    cluster = MockCluster(home, str(kmock.url).rstrip("/"))
    kmock << cluster.answer
    return cluster


async def slow(seconds: float) -> None:
    """For an answer that takes longer than anybody waits."""
    await asyncio.sleep(seconds)
