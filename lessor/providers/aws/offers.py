"""From what somebody needs to the machines that fill it, cheapest first, with the price and where it is from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from lessor.catalog import Catalogue
from lessor.domain.money import Money
from lessor.domain.quote import Offer, Quote
from lessor.domain.request import Market, Need
from lessor.ports import PermanentError, ProviderError
from lessor.providers.aws.prices import OWN_LIST, Prices, SpotRange
from lessor.providers.aws.quotas import VcpuQuotas
from lessor.providers.aws.site import Site
from lessor.providers.aws.types import InstanceTypes, TypeFacts

MOST_MACHINES = 8
MOST_ALTERNATIVES = 7
FALLBACK_FACTOR = Decimal("1.5")
"""An alternative may be launched without asking again up to this multiple of the approved on-demand price."""
FALLBACK_NOTE = "taken if the first has no capacity"


@dataclass(frozen=True)
class Priced:
    """An offer at a site, with what a quote says about its price."""

    site: Site
    offer: Offer
    version: str
    problem: str = ""
    spot: SpotRange | None = None


class Offers:
    """Fills needs at the sites of a place. What is not offered is refused with what is (case C26)."""

    def __init__(
        self,
        catalogue: Catalogue,
        types: InstanceTypes,
        prices: Prices,
        quotas: VcpuQuotas,
        clock: Callable[[], datetime],
    ) -> None:
        self._catalogue, self._types, self._prices, self._quotas = catalogue, types, prices, quotas
        self._clock = clock

    def priced(self, sites: Sequence[Site], need: Need, zone: str, market: Market, at: datetime) -> tuple[Priced, ...]:
        """Every way to fill `need`, cheapest first, unknown prices last."""
        found = [one for site in sites for one in self._at(site, need, zone, market, at)]
        return tuple(sorted(found, key=_cheapest_first))

    def quote(self, sites: Sequence[Site], need: Need, zone: str, market: Market, now: datetime) -> Quote:
        """The cheapest offer of the first site that has one, with its alternatives.

        First the same type at the other sites, in their order, then other types, cheapest first. Raises
        `PermanentError` ("no-offer") when nothing fits.
        """
        found, unread = self._readable(sites, need, zone, market, now)
        if not found:
            raise PermanentError(self._refusal(sites, need, market), "no-offer")
        best, *rest = found
        same = [one for one in rest if one.offer.instance_type == best.offer.instance_type]
        others = [*same, *sorted((one for one in rest if one not in same), key=_cheapest_first)]
        quota = self._quotas.vcpus(best.site, best.offer.instance_type, market)
        return Quote(
            need=need,
            offer=best.offer,
            at=now,
            price_list=best.version,
            alternatives=tuple(_marked(other.offer, best.offer) for other in others[:MOST_ALTERNATIVES]),
            spot_low=best.spot.low if best.spot else None,
            spot_high=best.spot.high if best.spot else None,
            vcpu_quota=quota,
            note="; ".join(part for part in (_scope(best, sites), *_notes(best, quota), *unread) if part),
        )

    def hourly(self, site: Site, instance_type: str, zone: str, market: Market, machines: int) -> Money | None:
        """What `machines` of a type cost an hour now in a zone; `None` is unknown."""
        agreed = self._agreed_spot(site, instance_type)
        if market is Market.SPOT:
            price = agreed or self._prices.spot(site, instance_type).current.get(zone)
        else:
            price = self._prices.on_demand(site, instance_type, self._clock()).hourly
        return price * machines if price else None

    def disk_monthly(self, site: Site) -> Money | None:
        """What a GiB of disk costs for a calendar month now; `None` is unknown."""
        return self._prices.disk_monthly(site, self._clock())

    def local_disk(self, site: Site, instance_type: str) -> bool:
        """Whether a stop wipes disks of the machine, as EC2 says; of a type that it does not list, that may be."""
        facts = self._types.all(site).get(instance_type)
        return facts is None or facts.local_disk

    def machines(self, site: Site, need: Need, instance_type: str) -> int:
        """How many machines of a type hold the GPUs that are needed."""
        facts = self._types.all(site).get(instance_type)
        return -(-need.count // facts.count) if facts else 1

    def zones(self, site: Site, offer: Offer, zone: str) -> tuple[str, ...]:
        """Zones to try for an offer: the one asked for first; spot markets cheapest first, then by name."""
        listed = _wanted(zone, self._types.zones(site).get(offer.instance_type, ()), first=True)
        if offer.market is not Market.SPOT:
            return listed
        current = self._prices.spot(site, offer.instance_type).current
        return tuple(sorted(listed, key=lambda z: (z != zone, z not in current, current.get(z, Money(Decimal())), z)))

    def _readable(
        self, sites: Sequence[Site], need: Need, zone: str, market: Market, at: datetime
    ) -> tuple[list[Priced], list[str]]:
        """Offers site by site, cheapest first, and which sites could not be asked.

        Only what comes after an offer may be unreadable: before it, it would be unknown which offer is the first.
        """
        found: list[Priced] = []
        unread: list[str] = []
        for site in sites:
            try:
                found += self._at(site, need, zone, market, at)
            except ProviderError as error:
                if not found:
                    raise
                unread.append(f"{site.region} could not be asked ({error.code}) and is not tried")
        return found, unread

    def _at(self, site: Site, need: Need, zone: str, market: Market, at: datetime) -> list[Priced]:
        """Every way to fill `need` at one site, cheapest first."""
        if market not in site.place.markets or market is Market.CAPACITY_BLOCK:
            return []
        fitting = self._fitting(site, need, market)
        zones = self._types.zones(site)
        found = [self._price(site, one, need, market, _wanted(zone, zones[one.name]), at) for one in fitting]
        return sorted(found, key=_cheapest_first)

    def _fitting(self, site: Site, need: Need, market: Market) -> list[TypeFacts]:
        offered = [facts for facts in self._types.offered(site).values() if facts.sold_in(market)]
        if need.instance_type:
            exact = need.instance_type.strip().lower()
            return [facts for facts in offered if facts.name == exact and _machines(facts, need) <= MOST_MACHINES]
        names = {model.name for model in self._catalogue.matching(need.model, need.memory_gib)}
        fitting = [facts for facts in offered if _means(facts, need, names) and facts.memory_gib >= need.memory_gib]
        alone = [facts for facts in fitting if facts.count >= need.count]
        largest = max((facts.count for facts in fitting), default=0)
        together = [f for f in fitting if f.count == largest and _machines(f, need) <= MOST_MACHINES]
        return alone or together

    def _price(
        self, site: Site, facts: TypeFacts, need: Need, market: Market, zones: tuple[str, ...], at: datetime
    ) -> Priced:
        machines = _machines(facts, need)
        listed = self._prices.on_demand(site, facts.name, at)
        spot = self._prices.spot(site, facts.name) if market is Market.SPOT else None
        agreed = self._agreed_spot(site, facts.name) if spot else None
        price = agreed or (spot.cheapest(zones) if spot else listed.hourly)
        offer = Offer(
            instance_type=facts.name,
            gpu_model=facts.model,
            gpu_count=facts.count * machines,
            gpu_memory_gib=facts.memory_gib,
            vcpus=facts.vcpus * machines,
            market=market,
            hourly=price * machines if price else None,
            on_demand_hourly=listed.hourly * machines if listed.hourly else None,
            local_disk=facts.local_disk,
            note=_size_note(facts, need, machines),
            region=site.region,
        )
        history = f"aws spot price history {spot.until:%Y-%m-%d}" if spot else listed.version
        version = OWN_LIST if agreed else history
        return Priced(site, offer, version, listed.problem, spot)

    def _agreed_spot(self, site: Site, instance_type: str) -> Money | None:
        own = site.place.prices.get(instance_type)
        return own.spot if own is not None and own.holds(self._clock()) else None

    def _refusal(self, sites: Sequence[Site], need: Need, market: Market) -> str:
        known = {name for site in sites for name in self._types.all(site)}
        found = {name: facts for site in sites for name, facts in self._types.offered(site).items()}
        exact = need.instance_type.strip().lower()
        if exact and exact not in found and exact in known:
            what = f"{exact} is not offered in {_where(sites)}"
        else:
            what = f"nothing in {_where(sites)} fits {need} ({market.value})"
        offered = [facts for facts in found.values() if facts.sold_in(market)]
        return f"{what}; nothing was requested. Offered there: {_listing(offered) or 'no GPU type in this market'}"


def covered(quote: Quote) -> tuple[Offer, ...]:
    """What an approved quote lets a launch try: its offer, then alternatives that cost little more at most."""
    return (quote.offer, *(other for other in quote.alternatives if _close(other, quote.offer)))


def _close(other: Offer, best: Offer) -> bool:
    ceiling = best.on_demand_hourly
    price = other.on_demand_hourly
    if ceiling is None or price is None or ceiling.currency != price.currency:
        return False
    return price.amount <= ceiling.amount * FALLBACK_FACTOR


def _marked(other: Offer, best: Offer) -> Offer:
    elsewhere = f"in {other.region}" if other.region != best.region else ""
    notes = [other.note, elsewhere, FALLBACK_NOTE if _close(other, best) else ""]
    return replace(other, note="; ".join(note for note in notes if note))


def _machines(facts: TypeFacts, need: Need) -> int:
    return -(-need.count // facts.count)


def _means(facts: TypeFacts, need: Need, names: set[str]) -> bool:
    wanted = "".join(need.model.casefold().split())
    return facts.model in names or (bool(wanted) and facts.model.casefold() == wanted)


def _wanted(zone: str, zones: tuple[str, ...], *, first: bool = False) -> tuple[str, ...]:
    """The zone asked for where it is one of `zones`; with `first`, the others after it."""
    if zone not in zones:
        return zones
    return (zone, *(other for other in zones if other != zone)) if first else (zone,)


def _cheapest_first(priced: Priced) -> tuple[bool, str, Decimal, int, int, str]:
    """By price where there is one; prices in different currencies are not compared, only kept apart."""
    offer = priced.offer
    price = offer.hourly or Money(Decimal())
    return (offer.hourly is None, price.currency, price.amount, offer.gpu_count, offer.vcpus, offer.instance_type)


def _size_note(facts: TypeFacts, need: Need, machines: int) -> str:
    if machines > 1:
        return f"{machines} machines of {facts.count} GPUs"
    if not need.instance_type and facts.count > need.count:
        return f"has {facts.count} GPUs, {need.count} were asked for"
    return ""


def _scope(best: Priced, sites: Sequence[Site]) -> str:
    """Which region the price is for, where it could be another."""
    return f"for {best.site.region}" if len(sites) > 1 else ""


def _notes(best: Priced, quota: int | None) -> list[str]:
    offer, parts = best.offer, []
    if best.offer.note:
        parts.append(best.offer.note)
    if best.spot is not None:
        parts.append(_spot_note(best.spot))
    if best.problem:
        parts.append(best.problem)
    if quota is not None and offer.vcpus > quota:
        parts.append(f"needs {offer.vcpus} vCPUs, the account's quota is {quota}: AWS will refuse this launch")
    return parts


def _spot_note(spot: SpotRange) -> str:
    if spot.low is None or spot.high is None:
        return "AWS has no spot prices for it lately"
    return f"spot prices move: {spot.low} to {spot.high} an hour in the 7 days to {spot.until:%Y-%m-%d %H:%M} UTC"


def _where(sites: Sequence[Site]) -> str:
    return f"{sites[0].place.name} ({', '.join(site.region for site in sites)})"


def _listing(offered: Iterable[TypeFacts]) -> str:
    counts: dict[str, set[int]] = {}
    for facts in offered:
        counts.setdefault(facts.model, set()).add(facts.count)
    return ", ".join(f"{model} x{'/'.join(map(str, sorted(counts[model])))}" for model in sorted(counts))
