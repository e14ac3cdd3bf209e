"""A Kubernetes cluster that is none: its API as strict as a real one, its nodes and GPUs made up.

`running_cluster()` runs one inside a test; `python -m lessor.sandbox.kubernetes` is the one of `lessor up`.
"""

from lessor.sandbox.kubernetes.running import RunningCluster, running_cluster

__all__ = ["RunningCluster", "running_cluster"]
