"""What has GPUs: machines that run in the AWS simulator, with what the catalogue knows of their types, and pods."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lessor.catalog import Catalogue
from lessor.contracts import TAG_LEASE

_NAMESPACE = uuid.UUID("5a0c6f0e-7d52-4f0b-9d0b-6f5f6b0e7a11")


@dataclass(frozen=True)
class Pod:
    """A pod in a cluster, and the node that it is on; `slice` is what its GPUs are cut into, as `1g.10gb`."""

    namespace: str
    name: str
    node: str
    slice: str = ""


@dataclass(frozen=True)
class Machine:
    """One running machine: its id, its GPUs and the lease on its tag; `memory` is what one GPU has, in MiB.

    Where it is a pod, its GPUs are those that the pod holds.
    """

    id: str
    type: str
    model: str
    gpus: int
    memory: int
    lease: str = ""
    started: float = 0.0
    pod: Pod | None = None

    @property
    def hostname(self) -> str:
        """As EC2 names machines: by a private address, that follows from the id here; of pods, that of the node."""
        if self.pod:
            return self.pod.node
        return f"ip-{self.address.replace('.', '-')}.ec2.internal"

    @property
    def address(self) -> str:
        number = int(uuid.uuid5(_NAMESPACE, self.id).int)
        return f"10.{number % 256}.{number // 256 % 256}.{number // 65_536 % 254 + 1}"

    @property
    def found_as(self) -> dict[str, str]:
        """What the Prometheus knows of it by how it finds it: a machine by its id, a pod by what its exporter says."""
        return {} if self.pod else {"instance_id": self.id}

    def gpu_id(self, index: int) -> str:
        return f"GPU-{uuid.uuid5(_NAMESPACE, f'{self.id}/{index}')}"


def running(instances: Iterable[Mapping[str, Any]], catalogue: Catalogue) -> list[Machine]:
    """The machines with GPUs among the simulator's instances that run now, oldest first."""
    found = []
    for one in instances:
        known = catalogue.types.get(one["type"])
        model = catalogue.model(known.model) if known else None
        if one["state"] != "running" or known is None or model is None:
            continue
        memory = model.reported_mib or model.memory_gib * 1024
        started = datetime.fromisoformat(one["launched_at"]).timestamp()
        lease = one["tags"].get(TAG_LEASE, "")
        found.append(Machine(one["id"], one["type"], model.name, known.count, memory, lease, started))
    return found
