"""Collects what a typed request says, and what in it contradicts itself or is not offered."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lessor.domain.amounts import misread
from lessor.domain.errors import FieldError
from lessor.domain.money import Money
from lessor.domain.request import LeaseKind, Market, Place, Workload
from lessor.intake.caps import read_amount, unread
from lessor.intake.draft import Draft, Offered, OfferedPlace
from lessor.intake.kinds import KINDS
from lessor.intake.needs import Canonical, Said, in_place, read_need, read_resource
from lessor.intake.wording import MARKETS, NO, WORKLOADS, YES, listed, squeezed
from lessor.when import End, Start, UnclearEndError, end_after, parse_end, parse_start

DEFAULT_DISK = 200
REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-?\d{1,2}[a-z]?")


@dataclass
class Gathering:
    """Everything said once; saying something else of the same thing is a problem, and the first stays."""

    zone: str
    now: datetime
    offered: Offered
    canonical: Canonical
    said: Said = field(default_factory=Said)
    end: End | None = None
    end_text: str = ""
    start: Start | None = None
    start_text: str = ""
    most: Money | None = None
    cap_text: str = ""
    single: dict[str, str] = field(default_factory=dict)
    where: Place | None = None
    nowhere: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    problems: list[FieldError] = field(default_factory=list)

    def draft(self) -> Draft:
        """What was said, with the only choice filled in where there is only one."""
        teams = [team.key for team in self.offered.teams]
        team = self.single.get("team") or (teams[0] if len(teams) == 1 else "")
        self._refuse_nowhere()
        self._resolve_times()
        place = self.where or (place_of(self.offered.places[0]) if len(self.offered.places) == 1 else None)
        models = [one.model for one in self.offered.models]
        self.need(in_place(self.said, place.provider if place else "", models), "")
        workload = self.single.get("workload")
        purpose = " ".join(self.words).strip(" ,;")
        present: dict[str, object] = {"need": self.said.need, "end": self.end_text, "team": team, "workload": workload}
        present |= {"purpose": purpose, "place": place}
        return Draft(
            need=self.said.need,
            end=self.end,
            end_text=self.end_text,
            start=self.start,
            start_text=self.start_text,
            schedule=self.single.get("schedule", ""),
            team=team,
            workload=Workload(workload) if workload else None,
            purpose=purpose,
            market=Market(self.single.get("market", Market.ON_DEMAND.value)),
            place=place,
            disk_gib=int(self.single.get("disk", DEFAULT_DISK)),
            snapshot=self.single.get("snapshot") == "yes",
            cost_center=self.single.get("cost_center", ""),
            project=self.single.get("project", ""),
            data=self.single.get("data", "").casefold(),
            checkpoints=self.single.get("checkpoints") == "yes",
            cap=self.most,
            cap_text=self.cap_text,
            kind=LeaseKind(self.single["kind"]) if "kind" in self.single else None,
            unknown=self.said.unknown if self.said.problem and not self.said.model else "",
            tags=self.tags,
            places=tuple(one.name for one in self.offered.places),
            missing=self._missing(present),
            problems=tuple(self.problems),
        )

    def _missing(self, present: dict[str, object]) -> tuple[str, ...]:
        """The fields that nothing was said for, right or wrong."""
        asked = present | ({"data": self.single.get("data")} if self.offered.limits.data else {})
        wrong = {problem.field for problem in self.problems}
        return tuple(name for name, value in asked.items() if not value and name not in wrong)

    def _refuse_nowhere(self) -> None:
        """What stood where a place stands, when no place was named besides: nobody is put elsewhere in silence."""
        if self.where or any(problem.field == "place" for problem in self.problems):
            return
        clear = [word for word in self.nowhere if looks_like_place(word, self.offered.places)]
        unclear = self.nowhere if len(self.offered.places) > 1 else []
        for word in (*clear, *unclear)[:1]:
            self.place(word)

    def wrong(self, name: str, message: str) -> None:
        self.problems.append(FieldError(name, message))

    def option(self, name: str, value: str) -> None:
        """An option by its name in `OPTIONS`."""
        simple: dict[str, Callable[[str], object]] = {
            "purpose": self.words.append,
            "team": self.team,
            "place": self.place,
            "gpu": self.model,
            "type": self.model,
            "tag": self._tag,
            "end": self.until,
            "start": self.begin,
            "schedule": self._schedule,
            "kind": self.kind,
        }
        if name in simple:
            simple[name](value)
        elif name in ("market", "workload"):
            self.choice(name, value)
        elif name in ("count", "memory", "disk"):
            self.number(name, value)
        elif name in ("snapshot", "checkpoints"):
            self._yes_or_no(name, value)
        else:
            self._once(name, value, name)

    def cap(self, text: str) -> None:
        """The most that it may cost; what is no amount is kept as it was said, so that a form can show it again."""
        money = read_amount(text, self.offered.limits.currency)
        if money is None:
            self.cap_text = self.cap_text or text
            self.wrong("cap", unread(text, self.offered.limits.currency))
        else:
            self.cap_text = self.cap_text or money.exact
            self._once("cap", money.exact, "cap")
            self.most = self.most or money

    def team(self, value: str) -> None:
        """One of the person's teams; another one is kept as it was said, so that the refusal can name it."""
        keys = {team.key.casefold(): team.key for team in self.offered.teams}
        self._once("team", keys.get(value.casefold(), value), "team")
        if value.casefold() not in keys:
            self.wrong("team", f"'{value[:40]}' is not a team of yours; yours: {listed(keys.values())}")

    def place(self, value: str) -> bool:
        """A place by its name, or the place that has this region or zone. False and a problem if there is none."""
        found = find_place(value, self.offered.places)
        if found is None:
            names = listed(place.name for place in self.offered.places)
            self.wrong("place", f"'{value[:40]}' is not configured; choose one of: {names}")
            return False
        if self.where and self.where.name != found.name:
            self.wrong("place", f"both {self.where} and {found} are asked for; choose one")
        elif not self.where or found.zone or (found.region and not self.where.zone):
            self.where = found
        return True

    def choice(self, name: str, value: str) -> None:
        """A market or a workload class."""
        known: dict[str, Market | Workload] = {**MARKETS} if name == "market" else {**WORKLOADS}
        chosen = known.get(squeezed(value))
        if chosen is None:
            allowed = listed(one.value for one in known.values())
            self.wrong(name, f"'{value[:40]}' is none of: {allowed}")
        else:
            self._once(name, chosen.value, name)

    def kind(self, value: str) -> None:
        """A kind of lease; whether the place has it is known when the whole request is checked."""
        chosen = KINDS.get(value.casefold())
        if chosen is None:
            self.wrong("kind", f"'{value[:40]}' is none of: {listed(KINDS)}")
        else:
            self._once("kind", chosen.value, "kind")

    def model(self, value: str) -> None:
        """A GPU model or an instance type after `gpu:` or `type:`."""
        said = read_need(value, self.canonical) or read_resource(value)
        self.need(said or Said(unknown=value), value)

    def need(self, said: Said, text: str) -> bool:
        """Part of the need. False if it says another thing than what was said before."""
        joined = self.said.joined(said)
        if joined is None:
            return False
        self.said = joined
        if said.problem:
            self.wrong("need", said.problem)
        return True

    def number(self, name: str, value: str) -> None:
        """A count of GPUs, a memory in GB, or the size of the disk in GiB."""
        digits = value.casefold().removesuffix("gib").removesuffix("gb").removesuffix("g").strip()
        target = {"count": "count", "memory": "need", "disk": "disk_gib"}[name]
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
            self.wrong(target, misread(target, digits, self.offered.limits))
        elif name == "disk":
            self._once("disk", digits, "disk_gib")
        elif not self.need(Said(count=int(digits)) if name == "count" else Said(memory_gib=int(digits)), value):
            self.wrong(target, f"'{value[:40]}' contradicts what was said before")

    def until(self, text: str) -> None:
        """The end; a refused one is kept as text with what is wrong about it."""
        if self.end_text:
            self.wrong("end", f"both '{self.end_text[:40]}' and '{text[:40]}' are given; choose one")
            return
        self.end_text = text

    def begin(self, text: str) -> None:
        """The start of a reservation."""
        if self.start_text:
            self.wrong("start", f"both '{self.start_text[:40]}' and '{text[:40]}' are given; choose one")
            return
        self.start_text = text

    def _resolve_times(self) -> None:
        """The start first, since weekdays and lengths in the end are meant from there."""
        limits = self.offered.limits
        if self.start_text:
            try:
                self.start = parse_start(self.start_text, self.now, self.zone, limits=limits)
            except UnclearEndError as refused:
                self.wrong("start", str(refused))
                return
        if not self.end_text:
            return
        try:
            if self.start:
                self.end = end_after(self.end_text, self.start.at, self.now, self.zone, limits)
            else:
                self.end = parse_end(self.end_text, self.now, self.zone, limits=limits)
        except UnclearEndError as refused:
            self.wrong("end", str(refused))

    def _schedule(self, value: str) -> None:
        """Working hours by their name in the configuration."""
        names = self.offered.limits.schedules
        found = next((name for name in names if name.casefold() == value.casefold()), None)
        if found is None:
            self.wrong("schedule", f"'{value[:40]}' is no schedule; there are: {listed(names)}")
        else:
            self._once("schedule", found, "schedule")

    def _once(self, name: str, value: str, target: str) -> None:
        before = self.single.setdefault(name, value)
        if before != value:
            self.wrong(target, f"both '{before[:40]}' and '{value[:40]}' are given; choose one")

    def _yes_or_no(self, name: str, value: str) -> None:
        said = value.casefold()
        if said not in YES + NO:
            self.wrong(name, f"'{value[:40]}' is neither yes nor no")
        else:
            self._once(name, "yes" if said in YES else "no", name)

    def _tag(self, value: str) -> None:
        key, equals, content = value.partition("=")
        if not equals or not key:
            self.wrong("tags", f"'{value[:40]}' is no tag; write tag:key=value")
        elif self.tags.setdefault(key, content) != content:
            self.wrong("tags", f"the tag '{key[:40]}' is given twice; choose one")


def find_place(value: str, places: Sequence[OfferedPlace]) -> Place | None:
    """The place with this name, or the only one with this region or zone."""
    said = value.casefold()
    found = [place_of(place) for place in places if place.name.casefold() == said]
    if not found:
        found = [place_of(place, region=said) for place in places if said in place.regions]
    if not found:
        found = [place_of(place, _region(said, place), said) for place in places if _has_zone(said, place)]
    return found[0] if len(found) == 1 else None


def looks_like_place(word: str, places: Sequence[OfferedPlace]) -> bool:
    """Whether the word can hardly be anything but a place: `aws-mars`, `eu-west-9`, `reserch-us`."""
    said = word.casefold()
    if said.partition("-")[0] in {place.provider.casefold() for place in places} or REGION.fullmatch(said):
        return True
    return bool(difflib.get_close_matches(said, [place.name.casefold() for place in places], n=1, cutoff=0.8))


def _has_zone(said: str, place: OfferedPlace) -> bool:
    return said in place.zones or (not place.zones and bool(_region(said, place)))


def _region(zone: str, place: OfferedPlace) -> str:
    return next((one for one in place.regions if re.fullmatch(re.escape(one) + "[a-z]", zone)), "")


def place_of(place: OfferedPlace, region: str = "", zone: str = "") -> Place:
    """`place` with the region that it has anyway if it has only one."""
    only = place.regions[0] if len(place.regions) == 1 else ""
    return Place(place.provider, place.name, region or only, zone)
