"""A place that is a Kubernetes cluster: `kubernetes` under `places` in `lessor.yaml`."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from lessor.config.durations import Duration
from lessor.config.prices import Day, DiskPriceConfig, Hourly
from lessor.config.section import Section
from lessor.domain.request import LeaseKind

NAME = r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"
Name = Annotated[str, Field(pattern=NAME)]
OptionalName = Annotated[str, Field(pattern=r"^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$")]
Shipped = Annotated[str, Field(max_length=400)]
GpuName = Annotated[str, Field(min_length=1, max_length=64)]


class ClusterRateConfig(Section):
    """What the organisation charges for one GPU of a model, in its own currency."""

    hourly: Hourly
    """An hour of one GPU, or of one slice where the model is a slice."""
    since: Day | None = None
    """The first day on which this rate holds."""


class WorkspaceConfig(Section):
    """What runs in a lease of kind workspace: one pod with a volume."""

    image: Annotated[str, Field(min_length=1, max_length=500)] = "docker.io/jupyter/base-notebook:python-3.11"
    """The image of leases whose workload class is not among images."""
    images: dict[str, Annotated[str, Field(min_length=1, max_length=500)]] = Field(default_factory=dict)
    """Images by workload class, such as notebook or training."""
    command: tuple[Annotated[str, Field(max_length=1_000)], ...] = ()
    """What is run in it; what the image says if empty."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 8888
    """The port that `kubectl port-forward` reaches, as the message with the access says."""
    mount: Annotated[str, Field(pattern=r"^/\S*$", max_length=400)] = "/workspace"
    """Where the volume is."""
    cpu: Annotated[str, Field(max_length=20)] = "4"
    """Processors for each GPU, as Kubernetes writes quantities."""
    memory: Annotated[str, Field(max_length=20)] = "32Gi"
    """Memory for each GPU, as Kubernetes writes quantities."""
    user: Annotated[int, Field(ge=1, le=2_000_000_000)] = 1000
    """The user id that the pod runs as, which is never root."""
    template: Shipped = ""
    """A Jinja2 template of the workload; the one that ships if empty."""


class KubernetesConfig(Section):
    """How the cluster is reached and what leases get in it."""

    context: Annotated[str, Field(max_length=253)] = ""
    """The context of the kubeconfig (KUBECONFIG); its current context if empty."""
    in_cluster: bool = False
    """Whether the worker runs in this very cluster and uses its own service account."""
    uid: Annotated[str, Field(max_length=64)] = ""
    """The uid of its namespace kube-system: what another cluster answers is unknown then; not looked at if empty."""
    address: Annotated[str, Field(pattern=r"^(https://\S+)?$", max_length=500)] = ""
    """The API server's address in accesses that people get; the one that lessor itself uses if empty."""
    kinds: Annotated[tuple[LeaseKind, ...], Field(min_length=1)] = (LeaseKind.NAMESPACE, LeaseKind.WORKSPACE)
    """What can be asked for here: namespace, workspace; the first is meant where nobody says."""
    rates: dict[GpuName, ClusterRateConfig] = Field(default_factory=dict)
    """What one GPU costs an hour, by the model's name such as A100-80GB; unknown for models that are not here."""
    resources: dict[Annotated[str, Field(max_length=317)], GpuName] = Field(default_factory=dict)
    """Resource names that the catalogue does not have, such as a renamed shared GPU, and what model they are."""
    disks: DiskPriceConfig | None = None
    """The price of volumes; unknown if empty."""
    storage_class: OptionalName = ""
    """The storage class of workspaces; the cluster's default if empty."""
    claims_kept: Duration = timedelta(days=7)
    """How long claims that people made outlive their stopped workloads; the grace that leases have is part of it."""
    delete_retained: bool = False
    """Whether disks that their storage class retains are deleted with the lease; otherwise somebody has to do it."""
    cluster_queue: OptionalName = ""
    """The ClusterQueue of Kueue that leases wait in; no queue if empty."""
    role: Name = "edit"
    """The ClusterRole that owners get in their own namespace."""
    user_prefix: Annotated[str, Field(max_length=64)] = ""
    """What the cluster puts before people's e-mail addresses to make user names, such as oidc:."""
    access: Duration = timedelta(hours=8)
    """How long an access that is asked for works: 10 minutes to 24 hours."""
    tolerations: dict[Annotated[str, Field(max_length=317)], Annotated[str, Field(max_length=63)]] = Field(
        default_factory=lambda: {"nvidia.com/gpu": "", "amd.com/gpu": ""}
    )
    """Taints of GPU nodes that workspaces tolerate: key, and value or nothing for any."""
    node_selector: dict[Annotated[str, Field(max_length=317)], Annotated[str, Field(max_length=63)]] = Field(
        default_factory=dict
    )
    """Labels that nodes must have to count as this place at all."""
    timeout: Duration = timedelta(seconds=10)
    """How long one call may take; what takes longer is unknown."""
    pending_after: Duration = timedelta(minutes=15)
    """How long a pod may wait for a node until its owner is told why."""
    workspace: WorkspaceConfig = Field(default_factory=WorkspaceConfig)
    """What runs in a workspace."""
