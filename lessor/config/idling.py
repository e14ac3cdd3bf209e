"""What an organisation says of idle GPUs: `idle` in `lessor.yaml`, by level, and what contradicts itself there."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from datetime import timedelta
from itertools import pairwise
from math import inf
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, field_validator

from lessor.config.durations import PATTERN, Duration, duration
from lessor.config.problems import KeyPath
from lessor.config.section import Key, Section
from lessor.config.wording import nearest
from lessor.domain.idle import IdleTerms
from lessor.domain.idle_plan import WORKLOADS, Changes, Holds, IdlePlan, IdleRule
from lessor.domain.request import Workload, spell

IGNORE, NEVER = "ignore", "never"


def _up_to(most: float) -> Callable[[object], float]:
    """Reads a number up to `most`, or `ignore`, which nothing is above."""

    def read(value: object) -> float:
        if value == IGNORE:
            return inf
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= most:
            return float(value)
        raise ValueError(f"is '{str(value)[:40]}'; allowed: a number from 0 to {most:,.0f}, or {IGNORE}")

    return read


def _length(value: object) -> timedelta:
    return timedelta.max if value == NEVER else duration(value)


def _written(value: timedelta) -> str:
    return NEVER if value == timedelta.max else f"{value // timedelta(milliseconds=1) / 1000:.3f}s"


IGNORABLE = PlainSerializer(lambda value: IGNORE if value == inf else value, when_used="json-unless-none")
NUMBER = WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"const": IGNORE}]})

Share = Annotated[float, Field(ge=0, le=1)]
Percent = Annotated[float, Field(ge=0, le=100)]
OptionalPercent = Annotated[float, PlainValidator(_up_to(100)), IGNORABLE, NUMBER]
Rate = Annotated[float, PlainValidator(_up_to(1e15)), IGNORABLE, NUMBER]
Watts = Annotated[float, PlainValidator(_up_to(10_000)), IGNORABLE, NUMBER]
OptionalDuration = Annotated[
    timedelta,
    PlainValidator(_length),
    PlainSerializer(_written, when_used="json-unless-none"),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": PATTERN}, {"const": NEVER}]}),
]
LONGEST = timedelta(days=30)
POSITIVE = ("window", "warn", "final", "stop", "held_stop", "snooze_most", "review_after")


class TermsConfig(Section):
    """When GPUs count as idle and what follows, on one level; what is left out is as the level above says."""

    window: Duration | None = None
    """So long has everything to be idle before anything is said."""
    warn: Duration | None = None
    """The owner is warned after so much idle time."""
    final: Duration | None = None
    """The last warning comes after so much idle time."""
    stop: Duration | None = None
    """It is stopped after so much idle time, if two warnings were delivered."""
    held_stop: Duration | None = None
    """The same where memory is held and nothing computes, as with a loaded model that waits."""
    warm_up: Duration | None = None
    """So long after a start nothing is idle."""
    engine: Share | None = None
    """A GPU works when its engine was active for more than this share of the time, 0 to 1."""
    util: Percent | None = None
    """A GPU works above this utilisation in percent; says nothing of MIG slices."""
    power: Watts | None = None
    """A GPU works when it draws more watts than this; `ignore` leaves the signal out."""
    cpu: OptionalPercent | None = None
    """A machine works above this load of its processors in percent; `ignore` leaves the signal out."""
    network: Rate | None = None
    """A machine works above so many bytes a second; `ignore` leaves the signal out."""
    disk: Rate | None = None
    """A machine works above so many bytes a second on its disks; `ignore` leaves the signal out."""
    requests: Rate | None = None
    """A service works above so many requests a second; `ignore` leaves the signal out."""
    memory: Share | None = None
    """A GPU holds memory above this share of it, 0 to 1."""
    fraction: Share | None = None
    """The share of its GPUs that has to work for a lease to be busy; at 0 one is enough."""
    spare: Duration | None = None
    """Interactive work that is idle is left running in its owner's working hours, for so long."""
    working_hours_only: bool | None = None
    """Count idle time in the owner's working hours only."""
    notice: Duration | None = None
    """The least time between a delivered warning and the stop."""
    fallback_notice: Duration | None = None
    """The same where the owner could not be reached and somebody else was told."""
    snooze_most: Duration | None = None
    """The longest time for which an owner may say `I am using it`."""
    snoozes: Annotated[int, Field(ge=0, le=100)] | None = None
    """How often that may be said until it works again."""
    stops: bool | None = None
    """Set to false to warn only."""
    review_after: OptionalDuration | None = None
    """A GPU at its maximum for so long is shown to administrators; nothing else happens."""

    @field_validator("*", mode="after")
    @classmethod
    def _said(cls, value: object) -> object:
        if value is None:
            raise ValueError("is empty; leave it out to take what the level above says")
        return value

    def changes(self) -> Changes:
        """What this level says, by the names of the domain."""
        said = {name: getattr(self, name) for name in TERMS if name in self.model_fields_set}
        return {name: None if value in (inf, timedelta.max) else value for name, value in said.items()}


TERMS = tuple(one.name for one in fields(IdleTerms) if one.name != "origins")


class IdleRuleConfig(Section):
    """Thresholds for what meets a condition. Where several rules speak, what leaves a lease alone longer holds."""

    name: Key
    """The name under which the thresholds of a lease quote this rule."""
    when: Annotated[str, Field(min_length=1, max_length=4_000)]
    """The condition in CEL over the facts of the request that docs/policy.md lists."""
    then: TermsConfig
    """What holds where it is met."""


class BrakeConfig(Section):
    """When nothing is stopped for being idle, because too much would be stopped at once."""

    share: Annotated[float, Field(gt=0, le=1)] = 0.2
    """More than this share of the metered leases within an hour holds all stops back."""
    least: Annotated[int, Field(ge=1, le=100_000)] = 5
    """Fewer than this many never do."""


class IdleConfig(TermsConfig):
    """When GPUs count as idle and what follows: for everybody, then by workload class, team, project and rule."""

    workloads: dict[Workload, TermsConfig] = Field(default_factory=dict)
    """By workload class."""
    teams: dict[Key, TermsConfig] = Field(default_factory=dict)
    """By team."""
    projects: dict[Key, TermsConfig] = Field(default_factory=dict)
    """By project."""
    rules: Annotated[tuple[IdleRuleConfig, ...], Field(max_length=200)] = ()
    """By conditions over the request."""
    brake: BrakeConfig = Field(default_factory=BrakeConfig)
    """When nothing is stopped for being idle, because too much would be stopped at once."""


def idle_plan(config: IdleConfig, holds: Holds) -> IdlePlan:
    """The levels as the domain lays them over one another; `holds` judges the conditions of rules."""
    return IdlePlan(
        organisation=config.changes(),
        workloads={key.value: one.changes() for key, one in config.workloads.items()},
        teams={key: one.changes() for key, one in config.teams.items()},
        projects={key: one.changes() for key, one in config.projects.items()},
        rules=tuple(IdleRule(one.name, one.when, one.then.changes()) for one in config.rules),
        holds=holds,
    )


def check_idling(config: IdleConfig, teams: list[str]) -> Iterator[tuple[KeyPath, str]]:
    """Levels of what nobody has, lengths of nothing, and warnings that do not come in order."""
    yield from _level(config, {}, ("idle",))
    for key, one in config.workloads.items():
        yield from _level(one, {**WORKLOADS.get(key.value, {}), **config.changes()}, ("idle", "workloads", key.value))
    for name, one in config.teams.items():
        if name not in teams:
            there = ", ".join(teams)
            yield ("idle", "teams", name), f"there is no team '{name}'{nearest(name, teams)}; teams: {there}"
        yield from _level(one, config.changes(), ("idle", "teams", name))
    for name, one in config.projects.items():
        yield from _level(one, config.changes(), ("idle", "projects", name))
    names: set[str] = set()
    for index, rule in enumerate(config.rules):
        path: KeyPath = ("idle", "rules", index)
        if rule.name in names:
            yield (*path, "name"), f"'{rule.name}' is the name of another rule as well"
        names.add(rule.name)
        yield from _level(rule.then, config.changes(), (*path, "then"))


def _level(config: TermsConfig, above: Mapping[str, Any], path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    said = config.changes()
    for name, value in said.items():
        if isinstance(value, timedelta) and (value > LONGEST or (name in POSITIVE and not value)):
            allowed = f"more than 0 and at most {spell(LONGEST)}" if name in POSITIVE else f"at most {spell(LONGEST)}"
            yield (*path, name), f"is {spell(value)}; allowed: {allowed}"
    terms = IdleTerms(**{**above, **said})
    order = ("window", "warn", "final", "stop")
    for first, second in pairwise(order):
        earlier, later = getattr(terms, first), getattr(terms, second)
        if later < earlier and (first in said or second in said):
            where = second if second in said else first
            yield (
                (*path, where),
                f"{first} is {spell(earlier)} and {second} is {spell(later)}; "
                f"they come in this order: {', '.join(order)}, so set the others here too",
            )
    if terms.held_stop < terms.stop and ("held_stop" in said or "stop" in said):
        where = "held_stop" if "held_stop" in said else "stop"
        yield (*path, where), f"held_stop is {spell(terms.held_stop)}, before stop ({spell(terms.stop)})"
