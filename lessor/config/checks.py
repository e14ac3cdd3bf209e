"""What one value alone cannot show: references that nobody has, names given twice, times that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from zoneinfo import ZoneInfo, available_timezones

from lessor.config.budgeting import check_limits
from lessor.config.clustering import check_cluster
from lessor.config.configuration import Config
from lessor.config.deciders import approver, check_stand_ins, varies
from lessor.config.guarding import check_guard
from lessor.config.idling import check_idling
from lessor.config.inventory import check_pool
from lessor.config.model import LeaseConfig, PlaceConfig
from lessor.config.notifications import check_notifications
from lessor.config.problems import KeyPath
from lessor.config.rating import check_rates
from lessor.config.rules import StepConfig
from lessor.config.securing import check_security, check_suggestions
from lessor.config.telemetry import check_telemetry
from lessor.config.wording import nearest
from lessor.domain import offboarding
from lessor.domain.request import spell
from lessor.domain.sweep import LATEST, SOONEST
from lessor.when.hours import known_country

OF_AWS = (
    *("regions", "zones", "account", "role_arn", "external_id_env", "markets", "instance_types", "subnets"),
    *("security_group", "instance_profile", "ami_parameter", "ami_parameter_arm", "kms_key", "user_data_template"),
    *("prices", "disks"),
)
"""The keys of a place that no other provider reads."""

Found = Iterator[tuple[KeyPath, str]]


def check(config: Config) -> Found:
    """`(key path, message)` for everything in a well-formed configuration that contradicts itself."""
    yield from _people(config)
    yield from _teams(config)
    yield from check_stand_ins(config)
    yield from _months(config)
    yield from _countries(config)
    yield from check_limits(config)
    yield from _schedules(config)
    yield from _lease(config.lease)
    yield from _sweep(config.lease)
    yield from _places(config)
    yield from _policy(config)
    yield from check_suggestions(config)
    yield from check_security(config)
    yield from check_notifications(config.notifications)
    yield from check_guard(config.guard)
    yield from check_idling(config.idle, list(config.organisation.teams))
    yield from check_telemetry(config.telemetry, [place.name for place in config.places if place.provider == "aws"])


def _people(config: Config) -> Found:
    owners: dict[str, int] = {}
    for index, person in enumerate(config.organisation.people):
        path: KeyPath = ("organisation", "people", index)
        if not _is_zone(person.tz):
            yield (*path, "tz"), f"'{person.tz}' is no time zone{_zone_hint(person.tz)}"
        if person.email and "@" not in person.email:
            yield (*path, "email"), f"'{person.email}' is no e-mail address"
        for key, ref in _own_refs(person.id, person.email, person.aliases):
            other = owners.setdefault(ref.casefold(), index)
            if other != index:
                line = config.line(("organisation", "people", other))
                message = f"'{ref}' belongs to the person on line {line} as well; one id or address means one person"
                yield (*path, key), message


def _own_refs(person_id: str, email: str, aliases: tuple[str, ...]) -> list[tuple[str, str]]:
    refs = [("id", person_id), ("email", email), *(("aliases", alias) for alias in aliases)]
    return [(key, ref) for key, ref in refs if ref]


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _zone_hint(name: str) -> str:
    zones = available_timezones()
    by_fold = {zone.casefold(): zone for zone in zones}
    if name.casefold() in by_fold:
        return f"; write '{by_fold[name.casefold()]}'"
    cities = {zone.rsplit("/", 1)[-1].casefold(): zone for zone in sorted(zones, reverse=True)}
    city = cities.get(name.strip().replace(" ", "_").casefold())
    return f"; did you mean '{city}'?" if city else "; allowed: an IANA name such as Europe/Berlin, or UTC"


def _countries(config: Config) -> Found:
    people = config.organisation.people
    named: dict[KeyPath, str] = {("organisation", "country"): config.organisation.country}
    named |= {("organisation", "people", index, "country"): one.country for index, one in enumerate(people)}
    named |= {("schedules", key, "country"): one.country for key, one in config.schedules.items()}
    for path, country in named.items():
        if country and not known_country(country):
            yield path, f"the public holidays of '{country}' are not known; use a code such as DE, US or US-CA"


def _months(config: Config) -> Found:
    zone = config.organisation.tz
    if not _is_zone(zone):
        yield ("organisation", "tz"), f"'{zone}' is no time zone{_zone_hint(zone)}"


def _teams(config: Config) -> Found:
    organisation = config.organisation
    for key, team in organisation.teams.items():
        path: KeyPath = ("organisation", "teams", key)
        if team.lead:
            yield from _known(config, [team.lead], (*path, "lead"))
        yield from _known(config, team.members, (*path, "members"))
        if not team.members and not team.lead:
            yield path, "has neither members nor a lead, so nobody could ask for it"
    for key, members in organisation.groups.items():
        yield from _known(config, members, ("organisation", "groups", key))
        if not members:
            yield ("organisation", "groups", key), "has no members"
    yield from _known(config, organisation.admins, ("organisation", "admins"))


def _known(config: Config, refs: Iterable[str], path: KeyPath) -> Found:
    for index, ref in enumerate(refs):
        if config.person_id(ref) is None:
            here = path if path[-1] == "lead" else (*path, index)
            yield here, f"nobody is '{ref}'{nearest(ref, list(config.primary_ids))}; add them to organisation.people"


def _schedules(config: Config) -> Found:
    names = list(config.schedules)
    for key, schedule in config.schedules.items():
        if schedule.tz and not _is_zone(schedule.tz):
            yield ("schedules", key, "tz"), f"'{schedule.tz}' is no time zone{_zone_hint(schedule.tz)}"
    for key, team in config.organisation.teams.items():
        if team.schedule and team.schedule not in names:
            there = ", ".join(names) or "none"
            message = f"there is no schedule '{team.schedule}'{nearest(team.schedule, names)}; there are: {there}"
            yield ("organisation", "teams", key, "schedule"), message


def _lease(lease: LeaseConfig) -> Found:
    positive = ("min_duration", "max_duration", "max_total", "lapse_after", "verify_interval", "blocked_retry")
    for key in (*positive, "remind_after", "escalate_after", "offer_after"):
        if not getattr(lease, key):
            yield ("lease", key), "is 0; it must be longer than that"
    if lease.max_duration < lease.min_duration:
        yield ("lease", "max_duration"), f"is below min_duration ({spell(lease.min_duration)})"
    if lease.max_duration > lease.max_total:
        message = f"is {spell(lease.max_duration)}, longer than max_total ({spell(lease.max_total)})"
        yield ("lease", "max_duration"), message
    for key in ("warnings", "short_warnings"):
        for index, distance in enumerate(getattr(lease, key)):
            if not distance:
                yield ("lease", key, index), "is 0; a warning comes before the end"
            elif distance >= lease.max_total:
                message = f"is {spell(distance)}; no lease is longer than max_total ({spell(lease.max_total)})"
                yield ("lease", key, index), message
    if lease.notice >= lease.max_total:
        yield ("lease", "notice"), f"is not below max_total ({spell(lease.max_total)})"


def _sweep(lease: LeaseConfig) -> Found:
    if not SOONEST <= lease.sweep_every <= LATEST:
        message = f"is {spell(lease.sweep_every)}; allowed: {spell(SOONEST)} to {spell(LATEST)}"
        yield ("lease", "sweep_every"), message
    if not SOONEST <= lease.people_sweep_every <= offboarding.LATEST:
        message = f"is {spell(lease.people_sweep_every)}; allowed: {spell(SOONEST)} to {spell(offboarding.LATEST)}"
        yield ("lease", "people_sweep_every"), message


def _places(config: Config) -> Found:
    names: dict[str, int] = {}
    for index, place in enumerate(config.places):
        path: KeyPath = ("places", index)
        other = names.setdefault(place.name, index)
        if other != index:
            yield (
                (*path, "name"),
                f"'{place.name}' is the name of the place on line {config.line(('places', other))} too",
            )
        yield from _place(config, place, path)


def _place(config: Config, place: PlaceConfig, path: KeyPath) -> Found:
    yield from _kind(config, place, path)
    yield from check_rates(place, path)
    regions = ", ".join(place.regions)
    for index, zone in enumerate(place.zones):
        if not _in_regions(zone, place.regions):
            yield (*path, "zones", index), f"'{zone}' is no zone of {regions}; a zone is a region and a letter"
    for zone in place.subnets:
        if not _in_regions(zone, place.regions):
            yield (*path, "subnets", zone), f"'{zone}' is no zone of {regions}"
        elif place.zones and zone not in place.zones:
            yield (*path, "subnets", zone), f"'{zone}' is not among the zones of this place: {', '.join(place.zones)}"
    if place.role_arn and place.account and f"::{place.account}:" not in place.role_arn:
        yield (*path, "role_arn"), f"is a role of another account than {place.account}"
    if place.external_id_env and not place.role_arn:
        yield (*path, "external_id_env"), "is of use only together with role_arn"


def _kind(config: Config, place: PlaceConfig, path: KeyPath) -> Found:
    """A place has the section of its own provider, and none of another's."""
    for provider, section in (("kubernetes", place.kubernetes), ("machines", place.machines)):
        if section is not None and place.provider != provider:
            yield (*path, provider), f"is of use only with provider: {provider}"
        if section is None and place.provider == provider:
            yield path, f"is a place of provider {provider} without its section; add {provider}: {{}}"
    if place.machines is not None:
        yield from check_pool(place.machines, (*path, "machines"), config.line)
    if place.provider == "aws" and not place.regions:
        yield path, "has no regions; add regions: [us-east-1], the preferred one first"
    if place.kubernetes is not None:
        yield from check_cluster(place.kubernetes, (*path, "kubernetes"))
    for key in OF_AWS if place.provider != "aws" else ():
        if getattr(place, key) != PlaceConfig.model_fields[key].get_default(call_default_factory=True):
            yield (*path, key), f"is of use only with provider: aws, not with {place.provider}"


def _in_regions(zone: str, regions: tuple[str, ...]) -> bool:
    return any(zone.startswith(region) and zone[len(region) :] and zone[-1].isalpha() for region in regions)


def _policy(config: Config) -> Found:
    names: dict[str, int] = {}
    for index, rule in enumerate(config.policy.rules):
        path: KeyPath = ("policy", "rules", index)
        other = names.setdefault(rule.name, index)
        if other != index:
            line = config.line(("policy", "rules", other))
            yield (*path, "name"), f"'{rule.name}' is the name of the rule on line {line} too"
        yield from _steps(config, rule.then.require or (), (*path, "then", "require"))
    yield from _steps(config, config.policy.default.require, ("policy", "default", "require"))


def _steps(config: Config, steps: tuple[StepConfig, ...], path: KeyPath) -> Found:
    for index, step in enumerate(steps):
        here = (*path, index)
        deciders: set[str] = set()
        for ref in step.approvers:
            people, problem = approver(config, ref)
            if problem:
                yield here, problem
            deciders |= people
        if deciders and not varies(step.approvers) and len(deciders) < step.quorum:
            yield here, f"asks for {step.quorum} approvals but only {len(deciders)} active people could give one"
