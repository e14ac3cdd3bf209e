"""Everything the simulated AWS remembers beside moto, in one place, so that a reset is one new object."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from lessor.sandbox.aws.capacity import CapacityBoard
from lessor.sandbox.aws.clock import SimulatedClock
from lessor.sandbox.aws.ec2.lifecycle import Fleet, LaunchFailure
from lessor.sandbox.aws.ec2.replacements import Replacements
from lessor.sandbox.aws.ec2.snapshots import Snapshots
from lessor.sandbox.aws.faults import Fault
from lessor.sandbox.aws.identity import Identities
from lessor.sandbox.aws.journal import Journal
from lessor.sandbox.aws.paging import PagePlan
from lessor.sandbox.aws.prices import PriceBook
from lessor.sandbox.aws.quotas import QuotaBook
from lessor.sandbox.aws.throttle import Throttle
from lessor.sandbox.aws.tokens import TokenBook
from lessor.sandbox.faultplan import FaultPlan


@dataclass
class PlannedLaunchFailure:
    """The next `times` launches of matching types are accepted and then die while pending."""

    failure: LaunchFailure
    instance_type: str = "*"
    times: int = 1


@dataclass
class Hiding:
    """How long EC2 does not know a new instance: `seconds` after launch, and for its first `reads` look-ups."""

    seconds: float = 0.0
    reads: int = 0


@dataclass
class CloudState:
    """Switches and memory of one simulated AWS."""

    clock: SimulatedClock = field(default_factory=SimulatedClock)
    journal: Journal = field(default_factory=Journal)
    faults: FaultPlan[Fault] = field(default_factory=FaultPlan)
    capacity: CapacityBoard = field(default_factory=CapacityBoard)
    quotas: QuotaBook = field(default_factory=QuotaBook)
    tokens: TokenBook = field(default_factory=TokenBook)
    pages: PagePlan = field(default_factory=PagePlan)
    throttle: Throttle = field(default_factory=Throttle)
    throttling: Literal["off", "real"] = "off"
    hiding: Hiding = field(default_factory=Hiding)
    launch_failures: list[PlannedLaunchFailure] = field(default_factory=list)
    strict_tag_characters: bool = True
    clock_skew: bool = False
    spot_count_limit: int | None = None
    prices: PriceBook = field(default_factory=PriceBook)
    identities: Identities = field(default_factory=Identities)
    fleet: Fleet = field(init=False)
    replacements: Replacements = field(init=False)
    snapshots: Snapshots = field(init=False)

    def __post_init__(self) -> None:
        self.fleet = Fleet(self.clock, self.capacity)
        self.replacements = Replacements(self.fleet, self.clock)
        self.snapshots = Snapshots(self.clock)

    def settle(self) -> None:
        """Let everything happen that is due by now."""
        self.fleet.settle()
        self.replacements.settle()
        self.snapshots.settle()
        self.fleet.settle()

    def launch_failure(self, instance_type: str) -> LaunchFailure | None:
        """The planned failure for this launch, used up by one."""
        for planned in self.launch_failures:
            if planned.times > 0 and fnmatchcase(instance_type, planned.instance_type):
                planned.times -= 1
                return planned.failure
        return None
