"""The shape of a file with policy tests; docs/policy.md explains it."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from lessor.config.durations import Duration
from lessor.config.model import Text
from lessor.config.rules import frozen
from lessor.config.section import Section
from lessor.domain.request import LeaseKind, Market, Workload

DEFAULT_INSTANT = datetime.fromisoformat("2026-01-14T10:00:00+00:00")
"""A Wednesday morning, for tests that do not say when."""


def _with_zone(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError("has no zone; write it such as 2026-01-14T10:00:00Z or ...+01:00")
    return instant


def _price(value: object) -> object:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Instant = Annotated[datetime, Field(strict=False), AfterValidator(_with_zone)]
Price = Annotated[str, BeforeValidator(_price), Field(pattern=r"^(unknown|\d{1,9}(\.\d{1,6})?)$")]


class AskedConfig(Section):
    """A request. What a test leaves out comes from the `request` at the head of the file, then from these defaults."""

    by: Annotated[str, Field(max_length=120)] = ""
    """Who asks, by any id or e-mail address; the first person of the team if empty."""
    team: Annotated[str, Field(max_length=40)] = ""
    """The team; the first one of the person, or of the file, if empty."""
    workload: Annotated[Workload, Field(strict=False)] = Workload.TRAINING
    """What the GPUs are for."""
    purpose: Annotated[str, Field(max_length=8_000)] = "policy test"
    """The purpose in words."""
    model: Annotated[str, Field(max_length=64)] = ""
    """The GPU model, as people call it."""
    count: Annotated[int, Field(ge=1, le=10_000)] = 1
    """How many GPUs."""
    instance_type: Annotated[str, Field(max_length=64)] = ""
    """An exact instance type instead of a model."""
    duration: Annotated[Duration | None, Field(alias="for")] = None
    """How long, such as 8h; a day if neither this nor `until` is given."""
    until: Instant | None = None
    """The end, instead of `for`."""
    start: Instant | None = None
    """When it is to begin; at once if empty."""
    market: Annotated[Market, Field(strict=False)] = Market.ON_DEMAND
    """The market."""
    kind: Annotated[LeaseKind | None, Field(strict=False)] = None
    """The kind of lease; the first one of the place if empty."""
    place: Annotated[str, Field(max_length=40)] = ""
    """The place; the first one of lessor.yaml if empty."""
    region: Annotated[str, Field(max_length=40)] = ""
    """The region, if one is asked for."""
    disk_gib: Annotated[int, Field(ge=8, le=65_536)] = 200
    """The size of the root volume."""
    snapshot: bool = False
    """Whether a snapshot is kept."""
    tags: dict[str, str] = Field(default_factory=dict)
    """Extra tags."""
    project: Annotated[str, Field(max_length=128)] = ""
    """The project."""
    data: Annotated[str, Field(max_length=40)] = ""
    """The sensitivity class of the data."""
    checkpoints: bool = False
    """Whether the work survives an interruption."""
    schedule: Annotated[str, Field(max_length=40)] = ""
    """The schedule of working hours."""
    price: Price | None = None
    """An hour's price for all of it, or `unknown`; what the place or the catalogue says if empty."""
    held: Annotated[int, Field(ge=0, le=100_000)] = 0
    """GPUs of the same model that the team holds already."""
    extensions: Annotated[int, Field(ge=0, le=1_000)] = 0
    """How often the lease was extended before, for tests of extensions."""
    similar: Annotated[int, Field(ge=0, le=100)] = 0
    """How many similar leases the person has already."""


Stage = Annotated[str | tuple[Text, ...], BeforeValidator(frozen)]


class ExpectConfig(Section):
    """What is expected; what is left out may be anything."""

    outcome: Literal["approve", "require", "deny"]
    """The outcome."""
    rules: tuple[Text, ...] | None = None
    """The rules that the decision quotes, all of them, in any order."""
    steps: tuple[Stage, ...] | None = None
    """The names of the steps in their order; those asked side by side as a list."""
    suggestions: tuple[Text, ...] | None = None
    """The rules whose suggestions are made, all of them, in any order."""
    reasons: tuple[Text, ...] | None = None
    """Texts that stand somewhere in the reasons."""


class ExampleConfig(Section):
    """One example request with the decision that is expected."""

    name: Text
    """What it shows."""
    at: Instant | None = None
    """When it is asked; the `at` of the file if empty."""
    request: dict[str, Any] = Field(default_factory=dict)
    """What is asked for; see AskedConfig."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """Facts by dotted name that hold instead, such as `budget.left: 500`; `unknown` makes one unknown."""
    expect: ExpectConfig
    """The decision."""


class SuiteConfig(Section):
    """A file of policy tests."""

    at: Instant = DEFAULT_INSTANT
    """When requests are asked unless a test says otherwise."""
    request: dict[str, Any] = Field(default_factory=dict)
    """What tests ask for unless they say otherwise."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """Facts that hold unless a test says otherwise."""
    tests: Annotated[tuple[ExampleConfig, ...], Field(min_length=1, max_length=5_000)]
    """The tests."""
