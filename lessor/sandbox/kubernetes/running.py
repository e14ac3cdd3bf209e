"""The simulated cluster inside another program, above all in tests."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lessor.sandbox.kubernetes import nodes
from lessor.sandbox.kubernetes.answering import Answer, answer
from lessor.sandbox.kubernetes.calls import Call
from lessor.sandbox.kubernetes.cluster import Heard, SimulatedCluster
from lessor.sandbox.kubernetes.faults import Fault, FaultKind
from lessor.sandbox.kubernetes.kinds import EXTENSIONS, kind
from lessor.sandbox.kubernetes.kubeconfigs import kubeconfig
from lessor.sandbox.kubernetes.managed import Writer
from lessor.sandbox.kubernetes.nodes import NodeShape
from lessor.sandbox.kubernetes.registry import Request
from lessor.sandbox.kubernetes.server import keep_stepping, make_application
from lessor.sandbox.serving import ServerThread

Obj = dict[str, Any]
ACCOUNT = ("lessor", "lessor")
"""Namespace and name of the service account that `deploy/kubernetes` makes for lessor."""


@dataclass
class RunningCluster:
    """A simulated cluster that listens on `base_url`, with what tests ask of it and do to it."""

    base_url: str
    cluster: SimulatedCluster

    @property
    def kubeconfig(self) -> str:
        """For lessor: its service account, with the rights that `deploy/kubernetes` gives and no others."""
        return self.kubeconfig_of(self.lessors_token())

    @property
    def admin_kubeconfig(self) -> str:
        return self.kubeconfig_of(self.cluster.accounts.admin())

    def kubeconfig_of(self, token: str, context: str = "lab") -> str:
        """A kubeconfig with one context and this token."""
        return kubeconfig(self.base_url, context, token=token)

    def lessors_token(self) -> str:
        """Good for 24 hours, and refused after `expire_tokens`."""
        with self.cluster.lock:
            account = self.cluster.registry.get(kind("ServiceAccount"), *ACCOUNT)
            return self.cluster.accounts.issue(account, 24 * 3600)[0]

    def exists(self, kind_name: str, namespace: str = "") -> list[str]:
        """Names of all objects of a kind, as `namespace/name` where they have one."""
        metas = [obj["metadata"] for obj in self.cluster.objects(kind_name, namespace)]
        return ["/".join(filter(None, (one.get("namespace", ""), one["name"]))) for one in metas]

    def get(self, kind_name: str, name: str, namespace: str = "") -> Obj | None:
        """The object as it is stored; never to be altered."""
        with self.cluster.lock:
            return self.cluster.store.get(kind(kind_name), namespace, name)

    def create(self, kind_name: str, obj: Obj, namespace: str = "") -> Obj:
        """Create as an administrator. Raises `Refused`."""
        return self.cluster.make(kind_name, obj, namespace)

    def change(self, kind_name: str, name: str, change: Obj, namespace: str = "") -> Obj:
        """A merge patch as an administrator."""
        with self.cluster.lock:
            return self.cluster.registry.patch(kind(kind_name), namespace, name, change)

    def status(self, kind_name: str, name: str, status: Obj, namespace: str = "") -> Obj:
        """A merge patch of its status, as the controller of an add-on or of a device writes it."""
        with self.cluster.lock:
            request = Request(writer=Writer("a-controller", subresource="status"))
            return self.cluster.registry.patch(kind(kind_name), namespace, name, {"status": status}, request)

    def delete(self, kind_name: str, name: str, namespace: str = "") -> None:
        """Delete as an administrator."""
        with self.cluster.lock:
            self.cluster.registry.delete(kind(kind_name), namespace, name)

    def fail(
        self, what: FaultKind = "error", *, verb: str = "*", resource: str = "*", namespace: str = "*",
        code: int = 500, times: int | None = 1, message: str = "", seconds: float = 0.0,
    ) -> None:  # fmt: skip
        """Let requests fail: `error` with a code, `lose-request`, `lose-answer` (after its effect), `slow`."""
        with self.cluster.lock:
            self.cluster.faults.add(Fault(what, verb, resource, namespace, times, code, message, seconds))

    def heal(self) -> None:
        """Nothing fails any more."""
        with self.cluster.lock:
            self.cluster.faults.clear()

    def forget_history(self) -> None:
        """Pages that were begun and versions that were seen are too old from now on: 410."""
        with self.cluster.lock:
            self.cluster.store.forget()

    def expire_tokens(self) -> None:
        """Tokens of service accounts that were issued so far are refused from now on: 401."""
        with self.cluster.lock:
            self.cluster.accounts.expire()

    def set(self, **settings: Any) -> None:
        """Change `Settings`, such as `scheduling=False`."""
        with self.cluster.lock:
            self.cluster.settings.change(**settings)

    def add_on(self, *extensions: str) -> None:
        """Install some of `kinds.EXTENSIONS`. Raises `ValueError` for others."""
        if unknown := set(extensions) - set(EXTENSIONS):
            raise ValueError(f"there is no {', '.join(sorted(unknown))}; there are: {', '.join(EXTENSIONS)}")
        with self.cluster.lock:
            self.cluster.served.extensions |= set(extensions)

    def settle(self) -> None:
        """Let the controllers work until nothing changes; what waits for its time still waits."""
        self.cluster.settle()

    def advance(self, **by: float) -> None:
        """Let time go by at once: `advance(hours=3)`."""
        self.cluster.advance(timedelta(**by))

    def heard(self, verb: str = "", resource: str = "") -> list[Heard]:
        """Requests so far, oldest first."""
        with self.cluster.lock:
            return [one for one in self.cluster.heard if verb in ("", one.verb) and resource in ("", one.resource)]

    def ask(self, method: str, path: str, body: Obj | None = None, token: str = "", **query: str) -> Answer:
        """One request without HTTP, as an administrator unless a token is given."""
        headers = {"authorization": f"Bearer {token or self.cluster.accounts.admin()}"}
        data = b"" if body is None else json.dumps(body).encode()
        return answer(self.cluster, Call(method, path, query, headers, data))


@contextlib.contextmanager
def running_cluster(
    shapes: Iterable[NodeShape] | None = None,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    now: Callable[[], datetime] | None = None,
    stepping: bool = True,
) -> Iterator[RunningCluster]:
    """A new cluster in a thread of this process, on a free port by default, with lessor's account and role in it.

    Its nodes are those of the sandbox's cluster unless `shapes` says otherwise.

    Without `stepping` its controllers only work in `settle` and `advance`.
    """
    cluster = SimulatedCluster(now)
    cluster.begin(nodes.lab() if shapes is None else shapes)
    cluster.install(manifests())
    beside = (lambda: keep_stepping(cluster)) if stepping else None
    with ServerThread("simulated-cluster", lambda: make_application(cluster), host, port, beside) as url:
        yield RunningCluster(url, cluster)


def manifests() -> str:
    """What `deploy/kubernetes` ships, in a checkout or in an installed package."""
    package = Path(__file__).parents[2]
    places = (package / "deploy" / "kubernetes", package.parent / "deploy" / "kubernetes")
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise FileNotFoundError(f"deploy/kubernetes is neither in {places[0].parent} nor in {places[1].parent}")
    return "\n---\n".join(path.read_text(encoding="utf-8") for path in sorted(found.glob("*.yaml")))
