"""Puts the guard together from settings and configuration: nothing of Temporal, and nothing that needs the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from lessor.catalog import Catalogue, load_catalogue
from lessor.domain.request import Place
from lessor.guarding.channels import Channel, HookChannel, MailChannel, SlackChannel
from lessor.guarding.grounds import ConfiguredGrounds, Records
from lessor.guarding.guard import Guard
from lessor.guarding.notebook import Notebook
from lessor.guarding.telling import Teller, audience
from lessor.guarding.words import SlackWords
from lessor.notify.opening import open_channels
from lessor.placing import ec2_places, kubernetes_provider
from lessor.pooling import machines_provider
from lessor.ports import Provider
from lessor.providers.aws import Ec2Provider
from lessor.reload import LiveConfig
from lessor.settings import Settings

FILE = "guard.json"
"""The notebook, in the data directory."""


def notebook_of(settings: Settings) -> Path:
    """Where the guard of this environment remembers."""
    return settings.lessor_data / FILE


@contextmanager
def open_guard(settings: Settings, live: LiveConfig, clock: Callable[[], datetime]) -> Iterator[Guard]:
    """A guard over the configured places; nothing is connected yet. Raises `SettingsError` for a missing secret."""
    records = Records(settings.database_url)
    notebook = Notebook(notebook_of(settings), clock)
    channels = _channels(settings, live, notebook, clock)
    concerned = audience(lambda: live.config)
    grounds = _grounds(settings, live, records)

    def teller() -> Teller:
        return Teller(channels, concerned, notebook)

    try:
        yield Guard(grounds, notebook, teller, live.derived(lambda config: config.guard.terms()), clock)
    finally:
        records.close()


def every(live: LiveConfig, asked: timedelta | None) -> Callable[[], timedelta]:
    """How often to look: as asked for, else as the configuration in force says."""
    return lambda: asked or live.config.guard.every


def _grounds(settings: Settings, live: LiveConfig, records: Records) -> ConfiguredGrounds:
    catalogue = load_catalogue()
    folder = settings.lessor_config.parent
    places = [Place(one.provider, one.name) for one in live.config.places]
    return ConfiguredGrounds(
        places,
        _providers(settings, live, catalogue),
        lambda ledger: machines_provider(live, folder, ledger, catalogue),
        records,
    )


def _providers(settings: Settings, live: LiveConfig, catalogue: Catalogue) -> dict[str, Provider]:
    found: dict[str, Provider] = {}
    if accounts := ec2_places(live.config):
        found["aws"] = Ec2Provider(accounts, catalogue, templates=settings.lessor_templates)
    clusters = kubernetes_provider(live, catalogue, settings.lessor_templates)
    if clusters is not None:
        found["kubernetes"] = clusters
    return found


def _channels(
    settings: Settings, live: LiveConfig, notebook: Notebook, clock: Callable[[], datetime]
) -> tuple[Channel, ...]:
    """All that are configured; what was told by them stands in the notebook."""
    opened = open_channels(settings, live.config, notebook)
    found: list[Channel] = []
    if settings.slack_bot_token:
        words = SlackWords(settings.lessor_templates)
        token, admins = settings.slack_bot_token.get_secret_value(), live.config.slack.admins_channel
        found.append(SlackChannel(token, settings.slack_api_url, admins, words, notebook))
    if opened.mail:
        found.append(MailChannel(opened.mail))
    if opened.hook:
        found.append(HookChannel(opened.hook, notebook, clock))
    return tuple(found)
