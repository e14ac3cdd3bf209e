"""What somebody asks for, and what may be asked for at all."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from lessor.domain.amounts import DISK_MIN_GIB, MEMORY_MAX_GIB, allowed
from lessor.domain.caps import unusable
from lessor.domain.errors import FieldError, Invalid, instant
from lessor.domain.kinds import Kinds, unoffered
from lessor.domain.money import Money
from lessor.domain.projects import misnamed
from lessor.domain.readable import quoted, unreadable
from lessor.domain.sensitivity import unclassified
from lessor.domain.tags import uncharged, untaggable

PURPOSE_MAX = 8_000
PURPOSE_MIN = 3
PLACES_MOST = 10
NAME = re.compile(r"[\w .:/+()-]{0,64}")
"""What a GPU model, an instance type, a region or a zone may be spelled with."""


class Workload(StrEnum):
    """What the GPUs are used for; policy and idle thresholds differ by it."""

    TRAINING = "training"
    FINE_TUNING = "fine-tuning"
    BATCH_INFERENCE = "batch-inference"
    REALTIME_INFERENCE = "realtime-inference"
    NOTEBOOK = "notebook"
    EXPERIMENT = "experiment"


class LeaseKind(StrEnum):
    """What is leased: a machine, a namespace of a cluster with a quota, or one workload in a namespace of its own."""

    MACHINE = "machine"
    NAMESPACE = "namespace"
    WORKSPACE = "workspace"


class Market(StrEnum):
    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"


@dataclass(frozen=True)
class Place:
    """Where it runs. `name` is the key of the place in `lessor.yaml`; an empty `zone` means any zone of it."""

    provider: str
    name: str
    region: str = ""
    zone: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.provider, self.name, self.zone or self.region) if part)


@dataclass(frozen=True)
class Need:
    """How much GPU: by model and count, by memory of each GPU in GiB, or by an exact instance type (which wins)."""

    model: str = ""
    count: int = 1
    memory_gib: int = 0
    instance_type: str = ""

    @property
    def shared(self) -> bool:
        """Whether it names a resource of a cluster, such as `nvidia.com/gpu`, of which `count` are wanted."""
        return "/" in self.instance_type

    def __str__(self) -> str:
        if self.instance_type:
            return f"{self.count} x {self.instance_type}" if self.shared else self.instance_type
        memory = f" {self.memory_gib} GB" if self.memory_gib else ""
        return f"{self.count} x {self.model or 'any GPU'}{memory}"


@dataclass(frozen=True)
class Request:
    """One wish for GPUs.

    Either `duration` (the clock starts when the resource is usable) or `until` (an instant) is set, never both.
    With `start` it waits until then, approved and with its quota taken. `schedule` names the working hours outside
    which it is stopped. `data` is the sensitivity of what is worked on, a key of the configuration's security rules.
    `checkpoints` says that the work survives an interruption. `project` is charged and limited beside the team.
    `interaction` is the business key of the click or command that made it. `cost_center` and `lead` are copied from the
    team when it is made, so that charging and escalation outlive the entries of the team and its people. `disk_gib` is
    the root volume's size. `cap` is the most that it may cost in all, by the requester's own wish. `kind` is what the
    place offers first unless one is named.
    """

    requester: str
    team: str
    purpose: str
    workload: Workload
    need: Need
    place: Place
    market: Market = Market.ON_DEMAND
    duration: timedelta | None = None
    until: datetime | None = None
    snapshot: bool = False
    disk_gib: int = 200
    cost_center: str = ""
    lead: str = ""
    interaction: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    start: datetime | None = None
    project: str = ""
    data: str = ""
    checkpoints: bool = False
    schedule: str = ""
    cap: Money | None = None
    kind: LeaseKind | None = None

    def __post_init__(self) -> None:
        for name in ("until", "start"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, instant(name, getattr(self, name)))

    def length(self, now: datetime) -> timedelta:
        """The time asked for, counted from its start, or from `now`, where an instant was given."""
        if self.until is not None:
            return self.until - self.begins(now)
        return self.duration or timedelta()

    def begins(self, now: datetime) -> datetime:
        """When it may start: now, or when it is reserved for."""
        return max(now, self.start) if self.start else now


@dataclass(frozen=True)
class Limits:
    """What may be asked for, from `lessor.yaml`: `teams` are the requester's, `places` what is configured.

    `max_ahead` is how far away a start may be, `schedules` are the names of working hours, `data` the
    classes of data, one of which has to be given if there are any. `currency` is that of amounts without one, `kinds`
    are the kinds of lease by place.
    """

    teams: tuple[str, ...]
    places: tuple[str, ...]
    min_duration: timedelta = timedelta(minutes=15)
    max_duration: timedelta = timedelta(days=30)
    max_gpus: int = 64
    max_disk_gib: int = 16_384
    max_ahead: timedelta = timedelta(days=90)
    schedules: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    currency: str = "USD"
    kinds: Kinds = field(default_factory=dict)


def validate(request: Request, limits: Limits, now: datetime) -> None:
    """Raise `Invalid` with one `FieldError` per bad field, each saying what is allowed."""
    found = (
        _purpose(request),
        _team(request, limits),
        _place(request, limits),
        unoffered(request.kind, request.place.name, limits.kinds),
        _count(request, limits),
        _need(request.need, limits),
        _disk(request, limits),
        _start(request, limits, now),
        _end(request, limits, now),
        _schedule(request, limits),
        unclassified(request.data, limits.data),
        unusable(request.cap),
        misnamed(request.project),
        uncharged(request.cost_center),
        untaggable(request.tags),
    )
    errors = tuple(e for e in found if e is not None)
    if errors:
        raise Invalid(errors)


def _purpose(request: Request) -> FieldError | None:
    length = len(request.purpose.strip())
    seen = sum(1 for c in request.purpose if unicodedata.category(c)[0] not in "CZ")
    if length > PURPOSE_MAX or seen < PURPOSE_MIN:
        count = length if length > PURPOSE_MAX else seen
        return FieldError("purpose", f"has {count:,} characters; {PURPOSE_MIN} to {PURPOSE_MAX:,} are allowed")
    return unreadable("purpose", request.purpose)


def _team(request: Request, limits: Limits) -> FieldError | None:
    if request.team in limits.teams:
        return None
    if not limits.teams:
        return FieldError("team", "you are in no team yet; ask an administrator to add you to one in lessor.yaml")
    if not request.team:
        return FieldError("team", f"is missing; yours: {', '.join(limits.teams)}")
    return FieldError("team", f"{quoted(request.team)} is not a team of yours; yours: {', '.join(limits.teams)}")


def _place(request: Request, limits: Limits) -> FieldError | None:
    place = request.place
    if place.name not in limits.places:
        return FieldError("place", f"{quoted(place.name)} is not configured; choose one of: {_places(limits)}")
    bad = next((name for name in (place.region, place.zone) if not NAME.fullmatch(name)), None)
    if bad is None:
        return None
    return FieldError("place", f"{quoted(bad)} is not the name of a region or zone; the places are: {_places(limits)}")


def _places(limits: Limits) -> str:
    more = len(limits.places) - PLACES_MOST
    listed = ", ".join(limits.places[:PLACES_MOST]) or "none is configured yet"
    return f"{listed} and {more} more" if more > 0 else listed


def _count(request: Request, limits: Limits) -> FieldError | None:
    if 1 <= request.need.count <= limits.max_gpus:
        return None
    return FieldError("count", f"{request.need.count:,} GPUs; {allowed('count', limits)}")


def _need(need: Need, limits: Limits) -> FieldError | None:
    bad = next((name for name in (need.instance_type, need.model) if not NAME.fullmatch(name)), None)
    if bad is not None:
        return FieldError(
            "need",
            f"{quoted(bad)} is not the name of a GPU or an instance type; names look like A100-80GB or g6.xlarge",
        )
    if 0 <= need.memory_gib <= MEMORY_MAX_GIB:
        return None
    return FieldError("need", f"{need.memory_gib:,} GiB of memory for each GPU; {allowed('need', limits)}")


def _disk(request: Request, limits: Limits) -> FieldError | None:
    if DISK_MIN_GIB <= request.disk_gib <= limits.max_disk_gib:
        return None
    return FieldError("disk_gib", f"{request.disk_gib:,} GiB; {allowed('disk_gib', limits)}")


def _start(request: Request, limits: Limits, now: datetime) -> FieldError | None:
    if request.start is None:
        return None
    away = request.start - now
    if away <= timedelta():
        return FieldError(
            "start", "is in the past; give a later one, or leave it out to start as soon as it is approved"
        )
    if away > limits.max_ahead:
        return FieldError("start", f"is {spell(away)} away; at most {spell(limits.max_ahead)} from now are allowed")
    return None


def _schedule(request: Request, limits: Limits) -> FieldError | None:
    if not request.schedule or request.schedule in limits.schedules:
        return None
    names = ", ".join(limits.schedules) or "none is configured"
    return FieldError("schedule", f"{quoted(request.schedule)} is no schedule; there are: {names}")


def _end(request: Request, limits: Limits, now: datetime) -> FieldError | None:
    if (request.duration is None) == (request.until is None):
        return FieldError("end", "give an end such as 8h, 3d, friday 18:00 or 2026-12-24")
    length = request.length(now)
    if limits.min_duration <= length <= limits.max_duration:
        return None
    since = "its start" if request.start else "now"
    allowed = f"{spell(limits.min_duration)} to {spell(limits.max_duration)} from {since} are allowed"
    if request.until and request.start and request.until <= request.start:
        return FieldError("end", f"comes before the start; {allowed}")
    if length > timedelta():
        shown = to_the_minute(length)
        shown = length if limits.min_duration <= shown <= limits.max_duration else shown
        return FieldError("end", f"is {spell(shown)} {'after its start' if request.start else 'away'}; {allowed}")
    return FieldError("end", f"is {'in the past' if request.until else 'no time at all'}; {allowed}")


def spell(length: timedelta) -> str:
    """A length of time for people: `3 d 4 h`, `45 min`, `20 s`; the two largest units that are not zero."""
    seconds = int(length.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        amount, seconds = divmod(seconds, size)
        if amount:
            parts.append(f"{amount} {unit}")
    return sign + " ".join(parts[:2]) if parts else "0 s"


def to_the_minute(length: timedelta) -> timedelta:
    """For people: an end that somebody typed as `2 days` is a few seconds less by the time it is looked at."""
    minute = timedelta(minutes=1)
    return (length + minute / 2) // minute * minute if length > timedelta(hours=1) else length
