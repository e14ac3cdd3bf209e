"""A request while it is still in a form: text and choices, not yet checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bot.ask import metadata
from lessor.domain.amounts import whole
from lessor.domain.errors import FieldError, Invalid, Refused
from lessor.domain.money import Money
from lessor.domain.request import LeaseKind, Market, Need, Place, Request, Workload
from lessor.intake import read_cap
from lessor.intake.draft import Draft
from lessor.when import End, Start, end_after, parse_end, parse_start

if TYPE_CHECKING:
    from lessor.gateway import Choices, PlaceChoice

PURPOSE_PART = 3_000
"""Slack's limit for one text field; longer purposes stand in several."""

TEAMS_OWN = "team"
"""The value of the choice that leaves the working hours to the team."""

TYPE_PREFIX = "type:"
"""Begins the value of a choice that is an exact instance type, not a GPU model."""

_PURPOSES = ("purpose", "purpose-2", "purpose-3")
_TAG = re.compile(r"\s*([^=\s][^=]*?)\s*=\s*(.*?)\s*")


@dataclass(frozen=True)
class Wish:
    """What stands in the form. `model` is a GPU model, or an instance type after `type:`."""

    team: str = ""
    model: str = ""
    count: str = "1"
    memory_gib: int = 0
    place: str = ""
    region: str = ""
    zone: str = ""
    market: str = Market.ON_DEMAND.value
    workload: str = Workload.EXPERIMENT.value
    end: str = ""
    disk: str = "200"
    purpose: str = ""
    tags: str = ""
    cost_center: str = ""
    start: str = ""
    project: str = ""
    data: str = ""
    schedule: str = ""
    cap: str = ""
    kind: str = ""
    checkpoints: bool = False
    snapshot: bool = False
    anyway: bool = False
    anyway_offered: bool = False
    purpose_fields: int = 1

    @property
    def purposes(self) -> tuple[str, ...]:
        """The purpose in parts that fit into one text field each, and as many fields as the form has already."""
        size = PURPOSE_PART
        parts = [self.purpose[i : i + size] for i in range(0, len(self.purpose), size)]
        return (*parts, *[""] * (self.purpose_fields - len(parts)))


def of_view(view: Mapping[str, Any]) -> Wish:
    """What the person has chosen and typed so far."""
    values = {
        action.removeprefix("wish-"): content
        for block in view["state"]["values"].values()
        for action, content in block.items()
        if action.startswith("wish-")
    }
    plain = {name: _content(value) for name, value in values.items()}
    options = {one["value"] for one in (values.get("options") or {}).get("selected_options") or ()}
    hidden = metadata(view)
    return Wish(
        team=plain.get("team", ""),
        model=plain.get("model", ""),
        count=plain.get("count", ""),
        memory_gib=int(hidden.get("memory") or 0),
        place=plain.get("place", ""),
        region=hidden.get("region", ""),
        zone=hidden.get("zone", ""),
        market=plain.get("market", "") or Market.ON_DEMAND.value,
        workload=plain.get("workload", "") or Workload.EXPERIMENT.value,
        end=plain.get("end", ""),
        disk=plain.get("disk", ""),
        purpose="".join(plain.get(name, "") for name in _PURPOSES),
        tags=plain.get("tags", ""),
        cost_center=hidden.get("cost", ""),
        start=plain.get("start", ""),
        project=plain.get("project", ""),
        data=plain.get("data", ""),
        schedule="" if plain.get("schedule") == TEAMS_OWN else plain.get("schedule", ""),
        cap=plain.get("cap", ""),
        kind=plain.get("kind", ""),
        checkpoints="checkpoints" in options,
        snapshot="snapshot" in options,
        anyway="anyway" in options,
        anyway_offered="options-anyway" in view["state"]["values"],
        purpose_fields=sum(name in plain for name in _PURPOSES),
    )


UNKNOWN_MOST = 40


def of_request(request: Request, zone: str) -> Wish:
    """The same wish again, for a person in `zone` to change and send."""
    need = request.need
    return Wish(
        team=request.team,
        model=_model(need),
        count=str(need.count),
        memory_gib=need.memory_gib,
        place=request.place.name,
        region=request.place.region,
        zone=request.place.zone,
        market=request.market.value,
        workload=request.workload.value,
        end=End(request.duration, request.until, zone).text,
        disk=str(request.disk_gib),
        purpose=request.purpose,
        tags=_lines(request.tags),
        cost_center=request.cost_center,
        start=End(until=request.start, zone=zone).text if request.start else "",
        project=request.project,
        data=request.data,
        schedule=request.schedule,
        cap=request.cap.exact if request.cap else "",
        kind=request.kind.value if request.kind else "",
        checkpoints=request.checkpoints,
        snapshot=request.snapshot,
    )


def of_draft(draft: Draft) -> Wish:
    """As much as a typed text says; what it does not say keeps the form's own beginning."""
    need, place = draft.need or Need(), draft.place or Place("", "")
    return Wish(
        team=draft.team,
        model=draft.unknown[:UNKNOWN_MOST] or _model(need),
        count=str(need.count),
        memory_gib=need.memory_gib,
        place=place.name,
        region=place.region,
        zone=place.zone,
        market=draft.market.value,
        workload=(draft.workload or Workload.EXPERIMENT).value,
        end=draft.end_text,
        disk=str(draft.disk_gib),
        purpose=draft.purpose,
        tags=_lines(draft.tags),
        cost_center=draft.cost_center,
        start=draft.start_text,
        schedule=draft.schedule,
        cap=draft.cap_text,
        kind=draft.kind.value if draft.kind else "",
        project=draft.project,
        data=draft.data,
        checkpoints=draft.checkpoints,
        snapshot=draft.snapshot,
    )


def completed(wish: Wish, choices: Choices) -> Wish:
    """`wish` with the first offered choice wherever nothing is chosen; a model that was named is never swapped."""
    teams = [team.key for team in choices.teams]
    models = [model.model for model in choices.models]
    place = next((p for p in choices.places if p.name == wish.place), choices.places[0])
    markets = [market.value for market in place.markets]
    kinds = [kind.value for kind in place.kinds]
    return replace(
        wish,
        team=wish.team if wish.team in teams else teams[0],
        model=wish.model or models[0],
        place=place.name,
        market=wish.market if wish.market in markets else markets[0],
        kind=wish.kind if wish.kind in kinds else next(iter(kinds), ""),
    )


def to_request(wish: Wish, choices: Choices, now: datetime, interaction: str) -> Request:
    """The request to submit. Raises `Invalid` for what cannot even be read; limits are checked by the gateway."""
    errors: list[FieldError] = []
    start, end = times(wish, choices, now, errors)
    count = whole("count", wish.count, choices.limits, errors)
    disk = whole("disk_gib", wish.disk, choices.limits, errors)
    tags = _tags(wish.tags, errors)
    cap = _cap(wish.cap, choices, errors)
    if errors:
        raise Invalid(tuple(errors))
    return Request(
        requester=choices.person.id,
        team=wish.team,
        purpose=wish.purpose.strip(),
        workload=Workload(wish.workload),
        need=need(wish, count),
        place=place(wish, choices),
        market=Market(wish.market),
        duration=end.lasts,
        until=end.fixed,
        snapshot=wish.snapshot,
        disk_gib=disk,
        cost_center=wish.cost_center,
        interaction=interaction,
        tags=tags,
        start=start.at if start else None,
        project=wish.project.strip(),
        data=wish.data,
        checkpoints=wish.checkpoints,
        schedule=wish.schedule,
        cap=cap,
        kind=kind(wish),
    )


def times(wish: Wish, choices: Choices, now: datetime, errors: list[FieldError]) -> tuple[Start | None, End]:
    """The start, `None` for as soon as it is approved, and the end that belongs to it; adds to `errors`."""
    zone, limits = choices.person.tz, choices.limits
    try:
        start = parse_start(wish.start, now, zone, limits=limits) if wish.start.strip() else None
    except Refused as refused:
        errors.append(FieldError("start", str(refused)))
        return None, End()
    try:
        if start:
            return start, end_after(wish.end, start.at, now, zone, limits)
        return None, parse_end(wish.end, now, zone, limits=limits)
    except Refused as refused:
        errors.append(FieldError("end", str(refused)))
        return start, End()


def kind(wish: Wish) -> LeaseKind | None:
    """What is leased; `None` for what the place has first."""
    return LeaseKind(wish.kind) if wish.kind else None


def need(wish: Wish, count: int) -> Need:
    """How much GPU is wished for."""
    if wish.model.startswith(TYPE_PREFIX):
        return Need(count=count, instance_type=wish.model.removeprefix(TYPE_PREFIX))
    return Need(model=wish.model, count=count, memory_gib=wish.memory_gib)


def place(wish: Wish, choices: Choices) -> Place:
    """Where it is wished for; a place that is not offered keeps its name, so that the refusal can say it."""
    found: PlaceChoice | None = next((p for p in choices.places if p.name == wish.place), None)
    provider = found.provider if found else ""
    region = wish.region or (found.regions[0] if found and len(found.regions) == 1 else "")
    return Place(provider, wish.place, region, wish.zone)


def _cap(text: str, choices: Choices, errors: list[FieldError]) -> Money | None:
    try:
        return read_cap(text, choices.limits.currency)
    except Invalid as invalid:
        errors.extend(invalid.errors)
        return None


def _tags(text: str, errors: list[FieldError]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        match = _TAG.fullmatch(line)
        if match is None:
            errors.append(FieldError("tags", f"'{line.strip()[:40]}' is no tag; write one key=value on each line"))
            break
        found[match[1]] = match[2]
    return found


def _lines(tags: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={value}" for key, value in tags.items())


def _model(need: Need) -> str:
    return f"{TYPE_PREFIX}{need.instance_type}" if need.instance_type else need.model


def _content(value: Mapping[str, Any]) -> str:
    chosen = value.get("selected_option")
    return str(chosen["value"]) if chosen else str(value.get("value") or "")
