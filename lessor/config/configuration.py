"""The whole configuration, and the answers that the rest of the product wants from it."""

import hashlib
import json
from functools import cached_property

from pydantic import Field, PrivateAttr

from lessor.config.model import LeaseConfig, Organisation, PlaceConfig, Section, SlackConfig
from lessor.config.notifications import NotificationsConfig
from lessor.config.problems import KeyPath
from lessor.config.reading import Document
from lessor.config.rules import PolicyConfig, SecurityConfig
from lessor.domain.people import Person
from lessor.domain.quota import Quota
from lessor.domain.request import Limits
from lessor.domain.terms import Terms
from lessor.ports import Team

ALL_MODELS = "all"
"""The key under a team's quotas that counts GPUs of all models together."""


class Config(Section):
    """`lessor.yaml`, whole. Who asks, who decides, what may be had, where, and how long."""

    organisation: Organisation
    """Who is who, and what each team may hold."""
    slack: SlackConfig = Field(default_factory=SlackConfig)
    """Where messages go and how Slack reaches the bot."""
    lease: LeaseConfig = Field(default_factory=LeaseConfig)
    """How long leases may be and what happens around their end."""
    places: tuple[PlaceConfig, ...] = Field(min_length=1)
    """Where leases may run."""
    policy: PolicyConfig = Field(default_factory=PolicyConfig)
    """When a request is approved, denied or shown to people."""
    security: SecurityConfig = Field(default_factory=SecurityConfig)
    """Where work with sensitive data may run: built-in rules that are switched on here."""
    notifications: NotificationsConfig = Field(default_factory=NotificationsConfig)
    """How people are told besides by Slack."""

    _document: Document = PrivateAttr(default_factory=lambda: Document("lessor.yaml", None))

    @property
    def file(self) -> str:
        """The name of the file it was read from, for errors."""
        return self._document.file

    def line(self, path: KeyPath) -> int:
        """The line of a key path in the file; 0 for a configuration that was not read from one."""
        return self._document.line(path)

    @cached_property
    def version(self) -> str:
        """The hash of the content: comments, key order and layout do not change it."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @cached_property
    def primary_ids(self) -> dict[str, str]:
        """Every id, alias and e-mail address in lower case, to the primary id of its person."""
        return {
            ref.casefold(): person.id
            for person in self.organisation.people
            for ref in (person.id, *person.aliases, person.email)
            if ref
        }

    def person_id(self, ref: str) -> str | None:
        """The primary id of the person whom `ref` means; `None` when nobody has it."""
        return self.primary_ids.get(ref.strip().casefold())

    def terms(self) -> Terms:
        """The timings that a lease requested now takes with it."""
        lease = self.lease
        return Terms(
            lapse_after=lease.lapse_after,
            warnings=lease.warnings,
            short_warnings=lease.short_warnings,
            short_lease=lease.short_lease,
            notice=lease.notice,
            grace=lease.grace,
            min_duration=lease.min_duration,
            max_total=lease.max_total,
            capacity_waits=lease.capacity_waits,
            verify_interval=lease.verify_interval,
            verify_passes=lease.verify_passes,
            cleanup_limit=lease.cleanup_limit,
            blocked_retry=lease.blocked_retry,
        )

    def limits(self, person: Person) -> Limits:
        """What this person may ask for."""
        return Limits(
            teams=person.teams,
            places=tuple(place.name for place in self.places),
            min_duration=self.lease.min_duration,
            max_duration=self.lease.max_duration,
            max_gpus=self.lease.max_gpus,
            max_disk_gib=self.lease.max_disk_gib,
        )

    def quotas(self, team: str) -> tuple[Quota, ...]:
        """The ceilings of one team; empty when it has none."""
        ceilings = self.organisation.quotas.get(team, {})
        return tuple(Quota(team, gpus, "" if model == ALL_MODELS else model) for model, gpus in ceilings.items())

    def team(self, key: str) -> Team:
        """The team with this key. Raises KeyError: keys are checked where they come in."""
        team = self.organisation.teams[key]
        return Team(
            key=key,
            name=team.name or key,
            lead=self.person_id(team.lead) or "",
            channel=team.channel,
            cost_center=team.cost_center,
            quotas=self.quotas(key),
            delegate=self.person_id(team.delegate) or "",
            budget_owner=self.person_id(team.budget_owner) or "",
        )

    def place(self, name: str) -> PlaceConfig | None:
        """The place with this name."""
        return next((place for place in self.places if place.name == name), None)
