"""From a request for a pod's `exec`, `portforward` or `log` to what is to be sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lessor.sandbox.kubernetes.calls import Call, Target
from lessor.sandbox.kubernetes.errors import Refused, bad_request
from lessor.sandbox.kubernetes.inside import containers, logs
from lessor.sandbox.kubernetes.inside.containers import Inside
from lessor.sandbox.kubernetes.kinds import kind
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
EXEC, FORWARD, LOG = "exec", "portforward", "log"
_WEBSOCKETS_ONLY = (
    "the simulated cluster opens this over WebSockets alone, as kubectl does from 1.31 on; {asked} was asked for. Take "
    "a newer kubectl, and leave KUBECTL_REMOTE_COMMAND_WEBSOCKETS and KUBECTL_PORT_FORWARD_WEBSOCKETS as they are"
)


@dataclass(frozen=True)
class Entering:
    """A way into a container. `lasts` says whether it still runs."""

    sub: str
    inside: Inside
    lasts: Callable[[], bool]
    now: Callable[[], datetime]
    command: tuple[str, ...] = ()
    tty: bool = False
    stdin: bool = False
    streams: frozenset[int] = frozenset()
    ports: tuple[int, ...] = ()


@dataclass(frozen=True)
class Following:
    """The log of a container that goes on: `lines` is all of it so far, `lasts` whether more may come.

    `text` is of the first `known` lines: what is said while it is sent comes after it.
    """

    text: str
    known: int
    lines: Callable[[], list[logs.Line]]
    lasts: Callable[[], bool]
    stamped: bool


def entering(store: Store, now: Callable[[], datetime], of: Target, call: Call) -> Entering:
    """Raises `Refused`: 400, 404, 500 where there is no way in."""
    pod = _pod(store, of)
    inside = containers.entered(store, pod, call.query.get("container", ""))
    asked = call.headers.get("upgrade", "")
    if asked.lower() != "websocket":
        words = _WEBSOCKETS_ONLY.format(asked=asked) if asked else "Upgrade request required"
        raise bad_request(words)
    if of.sub == EXEC and not call.every("command"):
        raise bad_request("you must specify at least one command")
    return Entering(
        sub=of.sub,
        inside=inside,
        lasts=_lasting(store, of, pod, inside.container),
        now=now,
        command=call.every("command"),
        tty=call.flag("tty"),
        stdin=call.flag("stdin"),
        streams=frozenset(at for at, name in ((1, "stdout"), (2, "stderr")) if call.flag(name)),
        ports=_ports(call),
    )


def log(store: Store, now: datetime, of: Target, call: Call) -> str | Following:
    """The log of a container. Raises `Refused`: 400, 404, 500 when it has none to show."""
    pod, query = _pod(store, of), call.query
    so_far = logs.lines(store, pod, query)
    text = logs.shown(so_far, query, now)
    if not call.flag("follow"):
        return text
    container = containers.named(pod, query.get("container", ""))

    def lines() -> list[logs.Line]:
        there = store.get(kind("Pod"), of.namespace, of.name)
        same = there is not None and there["metadata"]["uid"] == pod["metadata"]["uid"]
        return logs.lines(store, there, query) if there is not None and same else []

    return Following(text, len(so_far), lines, _lasting(store, of, pod, container), call.flag("timestamps"))


def _pod(store: Store, of: Target) -> Obj:
    found = store.get(kind("Pod"), of.namespace, of.name)
    if found is None:
        raise Refused(404, "NotFound", f'pods "{of.name}" not found', {"name": of.name, "kind": "pods"})
    return found


def _lasting(store: Store, of: Target, pod: Obj, container: str) -> Callable[[], bool]:
    def lasts() -> bool:
        there = store.get(kind("Pod"), of.namespace, of.name)
        same = there is not None and there["metadata"]["uid"] == pod["metadata"]["uid"]
        return there is not None and same and "running" in containers.state(there, container)

    return lasts


def _ports(call: Call) -> tuple[int, ...]:
    try:
        return tuple(int(one) for given in call.every("ports") for one in given.split(","))
    except ValueError as error:
        raise bad_request(f"ports: {error}") from error
