"""What a container has written: a few lines that say that nothing runs in it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from lessor.sandbox.kubernetes.errors import bad_request
from lessor.sandbox.kubernetes.inside.containers import described, named, on_node, state
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
Line = tuple[str, str]
"""When, as the API writes it, and what."""


def lines(store: Store, pod: Obj, query: Mapping[str, str]) -> list[Line]:
    """The lines of the container that `query` names. Raises `Refused` (400, 500) when it has none to show."""
    name, of = named(pod, query.get("container", "")), pod["metadata"]["name"]
    if not pod["spec"].get("nodeName"):
        return []
    on_node(store, pod)
    now = state(pod, name)
    if query.get("previous") == "true":
        raise bad_request(f'previous terminated container "{name}" in pod "{of}" not found')
    if not now or "waiting" in now:
        why = (now.get("waiting") or {}).get("reason") or "ContainerCreating"
        raise bad_request(f'container "{name}" in pod "{of}" is waiting to start: {why}')
    return _written(store, pod, name)


def shown(found: list[Line], query: Mapping[str, str], now: datetime) -> str:
    """As text, cut as the query asks. Raises `Refused` (400) for what is no number."""
    back, tail = _number(query, "sinceSeconds"), _number(query, "tailLines")
    if back is not None:
        found = [one for one in found if now - datetime.fromisoformat(one[0]) <= timedelta(seconds=back)]
    if tail is not None:
        found = found[len(found) - tail :] if tail < len(found) else found
    text = "".join(f"{at} {line}\n" if query.get("timestamps") == "true" else f"{line}\n" for at, line in found)
    return text[: _number(query, "limitBytes")]


def _written(store: Store, pod: Obj, name: str) -> list[Line]:
    inside, now = described(store, pod, name), state(pod, name)
    ended = now.get("terminated")
    begun = (now.get("running") or {}).get("startedAt") or pod["status"].get("startTime", "")
    said = [(begun, f"This container is simulated: {inside.image} was not pulled, and nothing runs in it.")]
    said += [(begun, f"It holds {inside.held()} on {inside.node}.")]
    for port in inside.ports:
        said += [(begun, f"Port {port}: kubectl port-forward {inside.pod} {port} shows a small page of the simulator.")]
    if ended is not None:
        said += [(ended["finishedAt"], f"It ended with exit code {ended['exitCode']}.")]
    return said


def _number(query: Mapping[str, str], name: str) -> int | None:
    if name not in query:
        return None
    try:
        return max(int(query[name]), 0)
    except ValueError as error:
        raise bad_request(f"{name}: {error}") from error
