"""Puts the parts together from settings and configuration; used by entry points only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from temporalio.client import Client

from lessor.absences import AbsenceAware
from lessor.booked import Booked
from lessor.books import Bookings
from lessor.catalog import Catalogue, load_catalogue
from lessor.config import Config, PlaceConfig
from lessor.converter import data_converter
from lessor.domain.case import Judge
from lessor.domain.request import Place
from lessor.engine import TemporalEngine
from lessor.fleet import Surveying, counting
from lessor.gateway import Gateway, ModelChoice, Offering, PlaceChoice
from lessor.ledger import SqlLedger, open_ledger
from lessor.placing import ec2_places, kubernetes_provider
from lessor.policyfile import compile_policy
from lessor.pooling import grace_of, machines_provider
from lessor.ports import Directory, Provider, Watch
from lessor.providers.aws import Ec2Provider
from lessor.reload import LiveConfig, LiveDirectory
from lessor.settings import Settings, temporal_connect_config
from lessor.working import HoursAware


@dataclass(frozen=True)
class Parts:
    """What every entry point shares: the record, the people, the places and the prices.

    `configured` are the people as the configuration has them, `directory` with who is away on top.
    """

    live: LiveConfig
    ledger: SqlLedger
    configured: Directory
    directory: Directory
    providers: Mapping[str, Provider]
    catalogue: Catalogue
    watches: Mapping[str, Watch]
    bookings: Bookings = field(default_factory=Booked)

    @property
    def config(self) -> Config:
        """The configuration in force now."""
        return self.live.config

    def overlay(self, directory: Directory) -> Parts:
        """The same parts over another directory, such as one that asks Slack as well."""
        return replace(self, directory=_as_of_now(directory, self.live, self.ledger))


def utc_now() -> datetime:
    return datetime.now(UTC)


async def connect_temporal(*, lazy: bool = True) -> Client:
    """A client by Temporal's own environment names; connects with the first call, so that nothing waits for it.

    A worker needs one that is connected: `lazy=False`, which raises `RuntimeError` while Temporal cannot be reached.
    Raises `SettingsError` when TEMPORAL_* variables do not fit.
    """
    return await Client.connect(**temporal_connect_config(), data_converter=data_converter, lazy=lazy)


def open_parts(settings: Settings, live: LiveConfig) -> Parts:
    """Opens the ledger and prepares the providers. Raises `LedgerUnavailableError` or `ConfigError`."""
    config = live.config
    catalogue = load_catalogue()
    ledger = open_ledger(settings.database_url)
    ec2 = Ec2Provider(ec2_places(config), catalogue, templates=settings.lessor_templates)
    people = LiveDirectory(live)
    known = _as_of_now(people, live, ledger)
    providers: dict[str, Provider] = {"aws": ec2}
    watches: dict[str, Watch] = {"aws": ec2}
    clusters = kubernetes_provider(live, catalogue, settings.lessor_templates)
    if clusters is not None:
        providers["kubernetes"] = watches["kubernetes"] = clusters
    machines = machines_provider(live, settings.lessor_config.parent, ledger, catalogue)
    if machines is not None:
        providers["machines"] = watches["machines"] = machines
    bookings = Booked({"machines": machines} if machines is not None else {})
    return Parts(live, ledger, people, known, providers, catalogue, watches, bookings)


def _as_of_now(people: Directory, live: LiveConfig, ledger: SqlLedger) -> Directory:
    """With who is away, who stands in for them, and when they work."""
    return HoursAware(AbsenceAware(people, ledger, utc_now), lambda person: live.config.week(person_id=person), utc_now)


def judge(live: LiveConfig) -> Judge:
    """The organisation's policy as one function. Raises `ConfigError` when a rule cannot be compiled."""
    policy = live.derived(compile_policy)
    return lambda case: policy().judge(case)


def build_gateway(parts: Parts, client: Client, judging: Judge | None = None) -> Gateway:
    """The use cases over these parts and this Temporal; with `judging` they say beforehand what the policy would."""
    live = parts.live
    offering = Offering(
        tuple(_place_choice(place) for place in live.config.places),
        lambda: _models(parts.catalogue),
        lambda person: live.config.limits(person=person),
        lambda: live.config.quota_plan,
        judging,
        lambda: live.config.metering,
        lambda: live.config.idle_plan,
    )
    engine = TemporalEngine(client, live.derived(Config.terms), grace=lambda place: grace_of(live, place))
    fleet = build_survey(parts)
    return Gateway(engine, parts.ledger, parts.directory, parts.providers, offering, utc_now, fleet)


def build_survey(parts: Parts) -> Surveying:
    """The look over all places of these parts."""
    live = parts.live
    return Surveying(
        parts.ledger,
        counting(parts.providers),
        parts.watches,
        lambda: [Place(place.provider, place.name) for place in live.config.places],
        utc_now,
        parts.catalogue.gpus,
        lambda: live.config.metering,
    )


@asynccontextmanager
async def open_gateway(settings: Settings, config: Config) -> AsyncIterator[Gateway]:
    """A gateway of its own for a short-lived program; the ledger is closed afterwards."""
    parts = open_parts(settings, LiveConfig(config))
    try:
        yield build_gateway(parts, await connect_temporal())
    finally:
        parts.ledger.close()


def _place_choice(place: PlaceConfig) -> PlaceChoice:
    return PlaceChoice(
        place.name,
        place.label or place.name,
        place.provider,
        place.regions,
        place.zones,
        place.markets,
        place.kinds,
    )


def _models(catalogue: Catalogue) -> tuple[ModelChoice, ...]:
    return tuple(
        ModelChoice(model.name, f"{model.name} ({model.memory_gib} GB)", model.memory_gib, model.counts)
        for model in catalogue.models()
    )
