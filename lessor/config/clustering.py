"""What a cluster's settings must not contradict, told before a lease depends on it: each setting means something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from lessor.config.clusters import KubernetesConfig, WorkspaceConfig
from lessor.config.problems import KeyPath
from lessor.config.wording import nearest
from lessor.domain.request import LeaseKind, Workload, spell

SHORTEST, LONGEST = timedelta(minutes=10), timedelta(hours=24)
"""What servers hand out at least, and what lessor asks for at most."""
PATIENCE = timedelta(minutes=5)
"""The longest time for one call: an attempt that waits longer is taken for dead."""

AMOUNT = re.compile(r"(?=.*[1-9])(\d+(\.\d+)?|\.\d+)([EPTGMk]i?|Ki|m)?")
KEY = re.compile(r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
RESOURCE = re.compile(r"(?!requests\.|limits\.)(?!([a-z0-9.-]+\.)?kubernetes\.io/)[a-z0-9.-]+/[A-Za-z0-9_.-]+")

Found = Iterator[tuple[KeyPath, str]]


def check_cluster(cluster: KubernetesConfig, path: KeyPath) -> Found:
    """What each value alone does not show."""
    if cluster.in_cluster and cluster.context:
        yield (*path, "context"), "is of use only without in_cluster, where the worker's own account is used"
    for index, kind in enumerate(cluster.kinds):
        if kind is LeaseKind.MACHINE:
            yield (*path, "kinds", index), "is no lease of a cluster; allowed: namespace, workspace"
    yield from _times(cluster, path)
    for name in cluster.resources:
        if not RESOURCE.fullmatch(name):
            message = f"'{name}' is no name under which pods ask for devices; allowed: a name such as example.com/gpu"
            yield (*path, "resources", name), message
    for section, named in (("node_selector", cluster.node_selector), ("tolerations", cluster.tolerations)):
        for key, value in named.items():
            if not KEY.fullmatch(key) or not VALUE.fullmatch(value):
                message = f"'{key}: {value}' is no label or taint; allowed: a key such as example.com/pool, and a value"
                yield (*path, section, key), f"{message} of letters, digits, '-', '_' and '.'"
    yield from _workspace(cluster.workspace, (*path, "workspace"))


def _times(cluster: KubernetesConfig, path: KeyPath) -> Found:
    if not SHORTEST <= cluster.access <= LONGEST:
        yield (*path, "access"), f"is {spell(cluster.access)}; allowed: {spell(SHORTEST)} to {spell(LONGEST)}"
    if not timedelta() < cluster.timeout <= PATIENCE:
        yield (*path, "timeout"), f"is {spell(cluster.timeout)}; allowed: more than 0 and at most {spell(PATIENCE)}"
    if not cluster.pending_after:
        yield (*path, "pending_after"), "is 0; no pod gets a node at once"


def _workspace(workspace: WorkspaceConfig, path: KeyPath) -> Found:
    classes = [one.value for one in Workload]
    for name in workspace.images:
        if name not in classes:
            hint = nearest(name, classes) or f"; allowed: {', '.join(classes)}"
            yield (*path, "images", name), f"'{name}' is no workload class{hint}"
    for key, said in (("cpu", workspace.cpu), ("memory", workspace.memory)):
        if not AMOUNT.fullmatch(said):
            yield (*path, key), f"is '{said}'; allowed: an amount for Kubernetes such as 4, 500m or 32Gi"
