"""Columns of nodes, namespaces, quotas, events and what is configured."""

from __future__ import annotations

from datetime import datetime

from lessor.sandbox.kubernetes import pods
from lessor.sandbox.kubernetes.tables.columns import (
    AGE,
    NAME,
    NONE,
    Column,
    Columns,
    Obj,
    column,
    found,
    labels,
    said,
    selector,
    since,
)

_ROLE = "node-role.kubernetes.io/"
_UNKNOWN = "<unknown>"


def _node_word(node: Obj) -> str:
    ready = pods.condition(node, "Ready")
    word = "Unknown" if not ready else "Ready" if ready == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if node["spec"].get("unschedulable") else word


def _roles(node: Obj) -> str:
    given = node["metadata"].get("labels") or {}
    roles = {name.removeprefix(_ROLE) for name in given if name.startswith(_ROLE)}
    return ",".join(sorted(filter(None, {*roles, given.get("kubernetes.io/role", "")}))) or NONE


def _address(type_: str) -> Column:
    def cell(node: Obj) -> str:
        given = found(node, "status", "addresses") or ()
        return next((str(one["address"]) for one in given if one["type"] == type_), NONE)

    return column(f"{type_.removesuffix('IP')}-IP", cell, wide=True)


def _info(name: str, word: str) -> Column:
    return column(name, lambda node: found(node, "status", "nodeInfo", word) or _UNKNOWN, wide=True)


def _kernel(node: Obj) -> str:
    built = found(node, "status", "nodeInfo", "architecture")
    return (found(node, "status", "nodeInfo", "kernelVersion") or _UNKNOWN) + (f" ({built})" if built else "")


def _quota(*, limits: bool) -> Column:
    def cell(quota: Obj) -> str:
        hard, used = found(quota, "status", "hard") or {}, found(quota, "status", "used") or {}
        names = sorted(name for name in hard if name.startswith("limits.") is limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return column("Limit" if limits else "Request", cell)


def _about(event: Obj) -> str:
    of = event["involvedObject"]
    return "/".join(filter(None, (of.get("kind", "").lower(), of.get("name"))))


def _told_by(event: Obj) -> str:
    source = event.get("source") or {}
    who = source.get("component") or event.get("reportingComponent") or ""
    where = source.get("host") or event.get("reportingInstance") or ""
    return f"{who}, {where}" if where else who


def _first_seen(event: Obj, now: datetime) -> str:
    return since(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Obj, now: datetime) -> str:
    last = found(event, "series", "lastObservedTime") or event.get("lastTimestamp")
    return since(last, now) if last else _first_seen(event, now)


def _times(event: Obj) -> int:
    return int(found(event, "series", "count") or event.get("count") or 1)


def _external(service: Obj) -> str:
    spec = service["spec"]
    if spec.get("type") == "ExternalName":
        return str(spec["externalName"])
    given = found(service, "status", "loadBalancer", "ingress") or ()
    lent = sorted(one.get("ip") or one.get("hostname", "") for one in given)
    nothing = "<pending>" if spec.get("type") == "LoadBalancer" else NONE
    return ",".join([*lent, *(spec.get("externalIPs") or ())]) or nothing


def _ports(service: Obj) -> str:
    def port(one: Obj) -> str:
        outside = f":{one['nodePort']}" if one.get("nodePort") else ""
        return f"{one['port']}{outside}/{one.get('protocol', 'TCP')}"

    return ",".join(port(one) for one in service["spec"].get("ports") or ()) or NONE


def _data(obj: Obj) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


COLUMNS: dict[str, Columns] = {
    "Node": (
        NAME,
        column("Status", _node_word),
        column("Roles", _roles),
        AGE,
        said("Version", "status", "nodeInfo", "kubeletVersion"),
        _address("InternalIP"),
        _address("ExternalIP"),
        _info("OS-Image", "osImage"),
        column("Kernel-Version", _kernel, wide=True),
        _info("Container-Runtime", "containerRuntimeVersion"),
    ),
    "Namespace": (NAME, said("Status", "status", "phase"), AGE),
    "ResourceQuota": (NAME, _quota(limits=False), _quota(limits=True), AGE),
    "Event": (
        Column("Last Seen", _last_seen),
        said("Type", "type"),
        said("Reason", "reason"),
        column("Object", _about),
        said("Subobject", "involvedObject", "fieldPath", wide=True),
        column("Source", _told_by, wide=True),
        column("Message", lambda event: (event.get("message") or "").strip()),
        Column("First Seen", _first_seen, wide=True),
        column("Count", _times, wide=True),
        Column("Name", NAME.cell, format="name", wide=True),
    ),
    "Service": (
        NAME,
        said("Type", "spec", "type"),
        column("Cluster-IP", lambda one: one["spec"].get("clusterIP") or NONE),
        column("External-IP", _external),
        column("Port(s)", _ports),
        AGE,
        column("Selector", lambda one: labels(one["spec"].get("selector")), wide=True),
    ),
    "ConfigMap": (NAME, column("Data", _data), AGE),
    "Secret": (NAME, said("Type", "type"), column("Data", _data), AGE),
    "NetworkPolicy": (NAME, column("Pod-Selector", lambda one: selector(one["spec"].get("podSelector"))), AGE),
}
