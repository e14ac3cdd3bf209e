"""The whole configuration, and the answers that the rest of the product wants from it."""

import hashlib
import json
from datetime import timedelta
from functools import cached_property

from pydantic import Field, PrivateAttr

from lessor.config.budgeting import quota_plan
from lessor.config.guarding import GuardConfig
from lessor.config.hours import HoursConfig
from lessor.config.idling import IdleConfig, idle_plan
from lessor.config.model import LeaseConfig, Organisation, PersonConfig, PlaceConfig, SlackConfig
from lessor.config.notifications import NotificationsConfig
from lessor.config.problems import KeyPath
from lessor.config.reading import Document
from lessor.config.rules import PolicyConfig, SecurityConfig
from lessor.config.scheduling import QuietHoursConfig, ScheduleConfig
from lessor.config.section import Key, Section
from lessor.config.telemetry import TelemetryConfig
from lessor.domain.idle_plan import IdlePlan
from lessor.domain.money import Money
from lessor.domain.people import Person
from lessor.domain.quota import QuotaPlan
from lessor.domain.request import Limits
from lessor.domain.terms import Terms
from lessor.ports import Team
from lessor.when.calendar import Schedule
from lessor.when.hours import Week


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
    schedules: dict[Key, ScheduleConfig] = Field(default_factory=dict)
    """Hours in which machines run, by name: they are stopped at night, at weekends and on holidays."""
    policy: PolicyConfig = Field(default_factory=PolicyConfig)
    """When a request is approved, denied or shown to people."""
    security: SecurityConfig = Field(default_factory=SecurityConfig)
    """Where work with sensitive data may run: built-in rules that are switched on here."""
    notifications: NotificationsConfig = Field(default_factory=NotificationsConfig)
    """How people are told besides by Slack."""
    idle: IdleConfig = Field(default_factory=IdleConfig)
    """When GPUs count as idle, who is warned, and when they are stopped."""
    telemetry: TelemetryConfig = Field(default_factory=TelemetryConfig)
    """Where it is read what GPUs and their machines do."""
    guard: GuardConfig = Field(default_factory=GuardConfig)
    """The second enforcer, which stops what runs past its end while Temporal, Slack and the ledger are down."""

    _document: Document = PrivateAttr(default_factory=lambda: Document("lessor.yaml", None))

    @property
    def file(self) -> str:
        """The name of the file it was read from, for errors."""
        return self._document.file

    @property
    def document(self) -> Document:
        """What it was read from, as plain data with lines; without data if it was not read from anything."""
        return self._document

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
        lease, step_up = self.lease, self.policy.step_up_above
        return Terms(
            remind_after=lease.remind_after,
            escalate_after=lease.escalate_after,
            escalations=lease.escalations,
            step_up=Money(step_up, self.organisation.currency) if step_up is not None else None,
            reask_share=self.policy.reask_share,
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
            auto_extensions=lease.auto_extensions,
            extension_hold=lease.extension_hold,
            suspend_notice=lease.suspend_notice,
            offer_after=lease.offer_after,
            at_cap=lease.at_cap,
        )

    @cached_property
    def timetable(self) -> dict[str, Schedule]:
        """The schedules by name, as the calendar writes them out."""
        return {name: one.schedule() for name, one in self.schedules.items()}

    @property
    def waking(self) -> Week | None:
        """When owners are not asleep; `None` when nights do not count."""
        quiet = self.lease.quiet_hours
        return quiet.waking() if isinstance(quiet, QuietHoursConfig) else None

    @cached_property
    def slack_groups(self) -> tuple[str, ...]:
        """The user groups of Slack that steps name, as they spell them."""
        asked = (*self.policy.default.require, *(s for rule in self.policy.rules for s in rule.then.require or ()))
        refs = (ref for step in asked for ref in step.approvers if ref.startswith("slack-group:"))
        return tuple(dict.fromkeys(ref.partition(":")[2] for ref in refs))

    @cached_property
    def _entries(self) -> dict[str, PersonConfig]:
        return {person.id: person for person in self.organisation.people}

    def week(self, person_id: str) -> Week | None:
        """When the person with this primary id works; `None` for round the clock."""
        entry = self._entries.get(person_id)
        own = entry.working_hours if entry else None
        hours = own or self.organisation.working_hours
        country = (entry.country if entry else "") or self.organisation.country
        if isinstance(hours, HoursConfig):
            return hours.week(country)
        return Week() if own else None

    def limits(self, person: Person) -> Limits:
        """What this person may ask for."""
        return Limits(
            teams=person.teams,
            places=tuple(place.name for place in self.places),
            min_duration=self.lease.min_duration,
            max_duration=self.lease.max_duration,
            max_gpus=self.lease.max_gpus,
            max_disk_gib=self.lease.max_disk_gib,
            max_ahead=self.lease.max_ahead,
            schedules=tuple(self.schedules),
            data=tuple(self.security.data),
            currency=self.organisation.currency,
            kinds={place.name: place.kinds for place in self.places},
        )

    @cached_property
    def quota_plan(self) -> QuotaPlan:
        """What teams, projects and people may hold at once and use in a month."""
        return quota_plan(self)

    @property
    def metering(self) -> timedelta | None:
        """How often the meter ticks; `None` where no source is configured, so that nothing is metered."""
        return self.telemetry.every if self.telemetry.sources else None

    @cached_property
    def idle_plan(self) -> IdlePlan:
        """Which idle thresholds hold for a lease, and which level set them."""
        # The parser of conditions is slow to import, and most of what loads a configuration judges nothing.
        from lessor.policyfile.idling import RecordedFacts

        return idle_plan(self.idle, RecordedFacts())

    def team(self, key: str) -> Team:
        """The team with this key. Raises KeyError: keys are checked where they come in."""
        team = self.organisation.teams[key]
        return Team(
            key=key,
            name=team.name or key,
            lead=self.person_id(team.lead) or "",
            channel=team.channel,
            cost_center=team.cost_center,
            delegate=self.person_id(team.delegate) or "",
            budget_owner=self.person_id(team.budget_owner) or "",
            schedule=team.schedule,
        )

    def place(self, name: str) -> PlaceConfig | None:
        """The place with this name."""
        return next((place for place in self.places if place.name == name), None)
