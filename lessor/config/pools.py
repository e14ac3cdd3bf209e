"""A place that is a pool of the organisation's own machines: `machines` under `places` in `lessor.yaml`."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from lessor.config.durations import Duration
from lessor.config.prices import Day, Hourly
from lessor.config.section import Section

Argument = Annotated[str, Field(max_length=2_000)]
Command = Annotated[tuple[Argument, ...], Field(max_length=40)]
MachineName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$")]


class MachineConfig(Section):
    """One machine by name."""

    name: MachineName
    """The name by which people know it."""
    model: Annotated[str, Field(min_length=1, max_length=64)]
    """The model of its GPUs, such as A100-80GB."""
    gpus: Annotated[int, Field(ge=1, le=64)]
    """How many GPUs it has."""
    memory_gib: Annotated[int, Field(ge=0, le=1_024)] = 0
    """The memory of each GPU in GiB; the catalogue's if 0."""
    address: Annotated[str, Field(max_length=253)] = ""
    """Where it is reached; the name if empty."""
    room: Annotated[str, Field(max_length=200)] = ""
    """Where it stands, and in which network."""
    owner: Annotated[str, Field(max_length=120)] = ""
    """Whose it is: a team's key or a person."""
    hourly: Hourly | None = None
    """What an hour of one GPU costs, in the organisation's currency; unknown if empty."""
    since: Day | None = None
    """The first day on which this price holds."""
    lease: Literal["machine", "gpu"] = "machine"
    """Whether it is leased whole, or GPU by GPU."""
    withdrawn: Annotated[str, Field(max_length=200)] = ""
    """Why nobody may lease it now, such as repair; empty if it may be leased."""


class HooksConfig(Section):
    """The organisation's own executables. Each is an argument vector: no shell reads it. They run in the folder of
    lessor.yaml.

    A request on standard input says in JSON what is wanted; see docs/machines.md.
    """

    grant: Command = ()
    """Lets the lease's owner in; may be called again with the same request."""
    revoke: Command = ()
    """Locks the lease's people out; may be called again, and for what was never granted."""
    verify: Command = ()
    """Prints in JSON who can get in; what it does not print is not known to be closed."""
    health: Command = ()
    """Ends with 0 while the machine is fit for use; without it every machine counts as healthy."""
    timeout: Duration = timedelta(seconds=60)
    """How long each may take."""


class MachinesConfig(Section):
    """The pool: an inventory here or in a file of its own, and how people are let in."""

    inventory: Annotated[str, Field(max_length=400)] = ""
    """A YAML or CSV file of machines, beside lessor.yaml unless absolute; read anew when it changes."""
    machines: Annotated[tuple[MachineConfig, ...], Field(max_length=10_000)] = ()
    """Machines, besides those of the file."""
    hooks: HooksConfig = Field(default_factory=HooksConfig)
    """How people get in and out."""
    health_every: Duration = timedelta(minutes=5)
    """How often each machine's health is looked at."""
    clean_up: Duration = timedelta(minutes=10)
    """How long after a lease a machine is kept free before the next one may begin."""
    grace: Duration = timedelta(hours=1)
    """How long after its end a lease keeps its machine, locked, in case its owner asks for it back; nobody else gets it
    meanwhile."""
