"""What runs beside the API server: each controller looks at what there is and takes one step towards what is wanted."""

from __future__ import annotations

from lessor.sandbox.kubernetes.controllers import (
    garbage,
    jobs,
    kubelet,
    kueue,
    namespaces,
    operators,
    quota,
    replicas,
    scheduler,
    stateful,
    volumes,
)

STEPS = (
    namespaces.run,
    quota.run,
    operators.run,
    jobs.run,
    replicas.run,
    stateful.run,
    kueue.run,
    scheduler.run,
    volumes.run,
    kubelet.run,
    garbage.run,
)
"""One step of each, in the order in which one usually waits for another."""
