"""What the guard reads of EC2: ends from the tags of machines, and GPU machines that carry no lease's tag.

Each region is read by itself, and what is read is EC2's alone: nothing else has to work (law 10).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lessor.catalog.cluster import load_names
from lessor.contracts import MANAGED_BY, TAG_ENDS, TAG_LEASE, TAG_MANAGED_BY, TAG_OWNER, TAG_TEAM
from lessor.domain.guarding import Dated, Roll, Stray, Strays
from lessor.domain.money import Money
from lessor.domain.request import Market, Place
from lessor.domain.resource import Condition
from lessor.domain.tags import said
from lessor.ports import ProviderError
from lessor.providers.aws import seen, tags
from lessor.providers.aws.offers import Offers
from lessor.providers.aws.ownership import group_of, launched_for
from lessor.providers.aws.site import Site, by
from lessor.providers.aws.types import InstanceTypes
from lessor.providers.instants import latest_end

Item = dict[str, Any]
Price = Callable[[Site, Item], Money | None]
GPU_FAMILY = re.compile(r"(g|gr|p)\d")
"""How instance types with GPUs begin, those of which lessor leases none among them."""

AWAKE = ("pending", "running")


def dated(sites: Sequence[Site], place: Place) -> Roll:
    """The machines of every lease, region by region. A region that cannot be read is a problem of its own."""
    found: list[Dated] = []
    problems: list[str] = []
    for site in sites:
        try:
            machines = seen.machines(site.read("describe_instances", "Reservations", Filters=by(tag_key=TAG_LEASE)))
        except ProviderError as error:
            problems.append(str(error))
            continue
        by_lease: dict[str, list[Item]] = {}
        for machine in machines:
            if machine["State"]["Name"] != "terminated" and (lease := tags.read(machine).get(TAG_LEASE, "")):
                by_lease.setdefault(lease, []).append(machine)
        where = replace(place, region=site.region)
        found += [_dated(where, lease, mine) for lease, mine in sorted(by_lease.items())]
    return Roll(tuple(found), tuple(problems))


def unleased(sites: Sequence[Site], place: Place, types: InstanceTypes, offers: Offers) -> Strays:
    """Machines with GPUs that run and carry no lease's tag, with what an hour of each costs where that is known."""
    found: list[Stray] = []
    problems: list[str] = []
    for site in sites:
        try:
            read = site.read("describe_instances", "Reservations", Filters=by(instance_state_name=list(AWAKE)))
        except ProviderError as error:
            problems.append(str(error))
            continue
        machines = seen.machines(read)
        leased = {
            lease for one in machines if (lease := tags.read(one).get(TAG_LEASE, "")) and launched_for(one, lease)
        }
        bare = [one for one in machines if _is_stray(one, leased)]
        names = _models(site, types) if bare else {}
        found += [_stray(replace(place, region=site.region), site, one, names, offers) for one in bare]
    return Strays(tuple(found), tuple(problems))


def _dated(place: Place, lease: str, machines: Sequence[Item]) -> Dated:
    awake = [one for one in machines if one["State"]["Name"] in AWAKE]
    # Ends of machines that rest cost nothing: only those of what runs decide.
    shown = awake or machines
    # What somebody launched like one of them carries its tags too: it is no lease's, and holds up no stop of this one.
    shown = [one for one in shown if launched_for(one, lease)] or shown
    ends = [tags.read(one).get(TAG_ENDS, "") for one in shown]
    marks = tags.read(shown[0])
    return Dated(
        place=place,
        lease=lease,
        refs=tuple(one["InstanceId"] for one in shown),
        what=f"{_counted(one['InstanceType'] for one in shown)} in {place.region}",
        condition=Condition.RUNNING if awake else seen.instance(shown[0], place.region).condition,
        ends=latest_end(ends),
        written=", ".join(dict.fromkeys(end for end in ends if end)),
        owner=marks.get(TAG_OWNER, ""),
        team=marks.get(TAG_TEAM, ""),
        since=max(map(seen.launched_at, shown)),
        fixed="; ".join(dict.fromkeys(why for one in shown if awake and (why := _fixed(one, lease)))),
    )


def _fixed(machine: Item, lease: str) -> str:
    """Why a machine cannot be stopped; empty where it can."""
    name = machine["InstanceId"]
    if tags.read(machine).get(TAG_MANAGED_BY) != MANAGED_BY or not launched_for(machine, lease):
        return f"{name} carries the tag of {lease}, but nothing shows that lessor launched it"
    if group := group_of(machine):
        return f"{name} belongs to the auto scaling group {group}, which would replace it"
    if market := machine.get("InstanceLifecycle", ""):
        return f"{name} is a {market} machine, which cannot be stopped, only ended"
    return ""


def _is_stray(machine: Item, leased: Collection[str]) -> bool:
    """Whether it holds GPUs without a lease; `leased` are those of which a machine of their own runs beside it."""
    lease = tags.read(machine).get(TAG_LEASE, "")
    bare = not lease or (lease in leased and not launched_for(machine, lease))
    return bare and bool(GPU_FAMILY.match(machine["InstanceType"]))


def _models(site: Site, types: InstanceTypes) -> Mapping[str, str]:
    """What GPUs types have, in words. Whether a machine has any is known without, so a refusal hides none of them."""
    try:
        return {name: f"{facts.count} x {facts.model}" for name, facts in types.all(site).items()}
    except ProviderError:
        return {}


def _stray(place: Place, site: Site, machine: Item, names: Mapping[str, str], offers: Offers) -> Stray:
    kind = machine["InstanceType"]
    gpus = f" ({names[kind]})" if kind in names else ""
    return Stray(
        place=place,
        ref=machine["InstanceId"],
        what=f"{kind}{gpus} in {machine['Placement']['AvailabilityZone']}",
        since=seen.launched_at(machine),
        who=_who(machine),
        hourly=_hourly(site, machine, offers),
    )


def _who(machine: Item) -> str:
    """Whom to ask, by the machine's own word: its tags, else the group or the key pair that it was launched with."""
    marks = tags.read(machine)
    if owner := said(marks, load_names().owners):
        return owner
    if group := group_of(machine):
        return f"auto scaling group {group}"
    if name := marks.get("Name", ""):
        return f"named {name}"
    return f"key pair {machine['KeyName']}" if machine.get("KeyName") else ""


def _hourly(site: Site, machine: Item, offers: Offers) -> Money | None:
    market = Market.SPOT if machine.get("InstanceLifecycle") == "spot" else Market.ON_DEMAND
    try:
        return offers.hourly(site, machine["InstanceType"], machine["Placement"]["AvailabilityZone"], market, 1)
    except ProviderError:
        return None


def _counted(kinds: Iterable[str]) -> str:
    return ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in Counter(kinds).items())
