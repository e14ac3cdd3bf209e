"""What a typed request says so far, what it does not say, and what in it cannot be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lessor.domain.errors import FieldError, Invalid
from lessor.domain.money import Money
from lessor.domain.request import LeaseKind, Limits, Market, Need, Place, Request, Workload
from lessor.intake.wording import listed
from lessor.when import End, Start


class OfferedTeam(Protocol):
    @property
    def key(self) -> str: ...


class OfferedPlace(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def provider(self) -> str: ...

    @property
    def regions(self) -> tuple[str, ...]: ...

    @property
    def zones(self) -> tuple[str, ...]: ...

    @property
    def kinds(self) -> tuple[LeaseKind, ...]: ...


class OfferedModel(Protocol):
    @property
    def model(self) -> str: ...


class Offered(Protocol):
    """What the person can choose from; the gateway's `Choices` is one."""

    @property
    def teams(self) -> Sequence[OfferedTeam]: ...

    @property
    def places(self) -> Sequence[OfferedPlace]: ...

    @property
    def models(self) -> Sequence[OfferedModel]: ...

    @property
    def limits(self) -> Limits: ...


@dataclass(frozen=True)
class Draft:
    """`end_text`, `start_text` and `cap_text` are as they were written, also when refused: a form can show them again.

    `missing` and `problems` name fields as `FieldError` does: need, count, start, end, schedule, team, workload,
    purpose, market, place, kind, disk_gib, data, cap, tags. `places` are the names that can be chosen from.
    `unknown` stands where a GPU model stands and is none: a form shows it there rather than a model that nobody named.
    """

    need: Need | None = None
    end: End | None = None
    end_text: str = ""
    start: Start | None = None
    start_text: str = ""
    schedule: str = ""
    team: str = ""
    workload: Workload | None = None
    purpose: str = ""
    market: Market = Market.ON_DEMAND
    place: Place | None = None
    disk_gib: int = 200
    snapshot: bool = False
    cost_center: str = ""
    project: str = ""
    data: str = ""
    checkpoints: bool = False
    unknown: str = ""
    cap: Money | None = None
    cap_text: str = ""
    kind: LeaseKind | None = None
    tags: dict[str, str] = field(default_factory=dict)
    places: tuple[str, ...] = field(default=(), compare=False)
    missing: tuple[str, ...] = ()
    problems: tuple[FieldError, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.missing and not self.problems

    def request(self, requester: str, interaction: str) -> Request:
        """The request that was typed. Raises `Invalid` with what is missing or wrong."""
        errors = (*self.problems, *(FieldError(name, self._wanted(name)) for name in self.missing))
        if errors or not (self.need and self.end and self.workload and self.place):
            raise Invalid(errors)
        return Request(
            requester=requester,
            team=self.team,
            purpose=self.purpose,
            workload=self.workload,
            need=self.need,
            place=self.place,
            market=self.market,
            duration=self.end.lasts,
            until=self.end.fixed,
            start=self.start.at if self.start else None,
            schedule=self.schedule,
            snapshot=self.snapshot,
            disk_gib=self.disk_gib,
            cost_center=self.cost_center,
            interaction=interaction,
            tags=self.tags,
            project=self.project,
            data=self.data,
            checkpoints=self.checkpoints,
            cap=self.cap,
            kind=self.kind,
        )

    def _wanted(self, name: str) -> str:
        if name == "place" and self.places:
            return f"say where, such as in {self.places[0]}; configured: {listed(self.places)}"
        return MISSING[name]


MISSING = {
    "need": "say which GPUs, such as 2 x a100 80gb or g5.xlarge",
    "end": "say until when, such as 8h, friday 18:00 or 2026-12-24",
    "team": "say for which team, such as team:research",
    "workload": f"say what for: {', '.join(kind.value for kind in Workload)}",
    "data": "say how sensitive the data is, such as data:internal",
    "purpose": 'say why, such as "fine-tune the ranking model"',
    "place": "no place is configured yet; an administrator can add one to lessor.yaml",
}
