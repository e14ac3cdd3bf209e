"""The work in a workspace lease: a volume and one pod, rendered from a template that an organisation can replace.

A template decides what runs and how. In which namespace, and with which marks, is not its to say; the quota and the Pod
Security level of the namespace hold it to the lease's GPUs and to what an ordinary process may do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import yaml
from jinja2 import TemplateError

from lessor.contracts import LABEL_LEASE, LABEL_MANAGED_BY, MANAGED_BY
from lessor.domain.provisioning import Order
from lessor.ports import PermanentError
from lessor.providers.kubernetes import gpus, queueing
from lessor.providers.kubernetes.api import CLAIM, STATEFUL_SET, ApiKind, Obj
from lessor.providers.kubernetes.quantities import times
from lessor.providers.kubernetes.site import Site
from lessor.providers.kubernetes.tenancy import Tenancy

NAME = "workspace"
POD = f"{NAME}-0"
VOLUME = "data"
TEMPLATE = "workspace.yaml.j2"
MISTAKES = (
    TemplateError,
    yaml.YAMLError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a template can run into, besides what it makes that is no object of ours."""
_ALLOWED = {(kind.api_version, kind.kind): kind for kind in (CLAIM, STATEFUL_SET)}


def objects(site: Site, order: Order, there: Tenancy) -> tuple[tuple[ApiKind, Obj], ...]:
    """What to apply, volumes first. Raises `PermanentError` ("template") with what is wrong in it."""
    name, values = site.config.workspace.template or TEMPLATE, _values(site, order, there)
    try:
        text = site.renderer.render(name, **values)
        made = [_placed(name, there, obj) for obj in yaml.safe_load_all(text) if obj is not None]
        json.dumps([obj for _, obj in made])
    except MISTAKES as error:
        raise _unfit(name, f"{type(error).__name__}: {' '.join(str(error).split())}") from error
    if [kind for kind, _ in made].count(STATEFUL_SET) != 1 or ("StatefulSet", NAME) not in _names(made):
        raise _unfit(name, f"it has to make exactly one StatefulSet, called {NAME}")
    return tuple(sorted(made, key=lambda one: one[0] == STATEFUL_SET))


def _values(site: Site, order: Order, there: Tenancy) -> dict[str, Any]:
    """What a template can use. All of it may be anybody's words, except the numbers."""
    config = site.config.workspace
    shape = gpus.shape(site, there.resource, there.model)
    return {
        "lease": order.lease_id,
        "owner": order.owner,
        "team": order.team,
        "purpose": order.request.purpose,
        "workload": order.request.workload.value,
        "name": NAME,
        "volume": VOLUME,
        "disk": f"{order.request.disk_gib}Gi",
        "storage_class": site.config.storage_class,
        "queue": queueing.NAME if queueing.queued(site) else "",
        "selector": {LABEL_LEASE: order.lease_id, LABEL_MANAGED_BY: MANAGED_BY},
        "nodes": shape.nodes,
        "node_selector": site.config.node_selector,
        "tolerations": site.config.tolerations,
        "image": config.images.get(order.request.workload.value, config.image),
        "command": config.command,
        "port": config.port,
        "mount": config.mount,
        "user": config.user,
        "amounts": {
            "cpu": times(config.cpu, there.gpus, "workspace.cpu"),
            "memory": times(config.memory, there.gpus, "workspace.memory"),
            there.resource: str(there.gpus),
        },
    }


def _placed(template: str, there: Tenancy, obj: Any) -> tuple[ApiKind, Obj]:
    """The object in the lease's namespace and with its marks, whatever the template says of them."""
    kind = _ALLOWED.get((str(obj.get("apiVersion")), str(obj.get("kind")))) if isinstance(obj, dict) else None
    if kind is None:
        what = (
            f"{obj.get('kind')} ({obj.get('apiVersion')})" if isinstance(obj, dict) else "something that is no object"
        )
        raise _unfit(template, f"it makes {what}; only {' and '.join(name for _, name in _ALLOWED)} are allowed")
    said = obj.get("metadata") or {}
    if not said.get("name"):
        raise _unfit(template, f"a {kind.kind} in it has no name")
    ours = there.metadata(str(said["name"]))
    for marks in ("labels", "annotations"):
        ours[marks] = {**(said.get(marks) or {}), **ours[marks]}
    return kind, {**obj, "metadata": {**said, **ours}}


def _names(made: Sequence[tuple[ApiKind, Obj]]) -> set[tuple[str, str]]:
    return {(kind.kind, obj["metadata"]["name"]) for kind, obj in made}


def _unfit(template: str, why: str) -> PermanentError:
    return PermanentError(
        f"the template {template} of workspaces does not fit: {why[:400]}. Nothing is left running; an administrator "
        "has to correct it",
        "template",
    )
