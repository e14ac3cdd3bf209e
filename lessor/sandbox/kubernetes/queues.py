"""What Kueue's webhooks do to new jobs and pods: those of a namespace with a queue wait in it."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.kinds import Kind, kind
from lessor.sandbox.kubernetes.store import Store

Obj = dict[str, Any]
QUEUE, MANAGED, GATE = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/managed", "kueue.x-k8s.io/admission"
DEFAULT = "default"
"""The local queue of this name is that of everything in its namespace which names no other."""


def queue_of(store: Store, namespace: str, name: str) -> Obj | None:
    return store.get(kind("LocalQueue"), namespace, name)


def enqueue(store: Store, what: Kind, obj: Obj) -> None:
    """Let a new job or pod wait, if it names a queue or its namespace has one for everything."""
    meta = obj["metadata"]
    owner = pods.owner(obj)
    # The pods of a job wait with it, and not again.
    if what.kind not in ("Job", "Pod") or (owner and owner["kind"] == "Job"):
        return
    labels = meta.get("labels") or {}
    if QUEUE not in labels and queue_of(store, meta["namespace"], DEFAULT) is None:
        return
    meta["labels"] = {QUEUE: DEFAULT, **labels} | ({MANAGED: "true"} if what.kind == "Pod" else {})
    if what.kind == "Job":
        obj["spec"]["suspend"] = True
    elif not any(one["name"] == GATE for one in obj["spec"].get("schedulingGates") or []):
        obj["spec"].setdefault("schedulingGates", []).append({"name": GATE})
