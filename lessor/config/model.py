"""The shape of `lessor.yaml`. The docstring of a field is what editors show and what the published schema says."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from lessor.config.clusters import KubernetesConfig
from lessor.config.durations import Duration
from lessor.config.hours import Country, HoursConfig, WorkingHours
from lessor.config.limits import CohortConfig, LimitConfig
from lessor.config.pools import MachinesConfig
from lessor.config.prices import DiskPriceConfig, PriceConfig
from lessor.config.scheduling import QuietHours, QuietHoursConfig
from lessor.config.section import Key, Section
from lessor.domain.request import LeaseKind, Market
from lessor.domain.sweep import EVERY
from lessor.domain.terms import AtCap, Terms

DEFAULTS = Terms()
PERSON_ID = r"^[UW][A-Z0-9]{2,20}$"


def _digits(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Text = Annotated[str, Field(min_length=1, max_length=200)]
Digits = Annotated[str, BeforeValidator(_digits), Field(max_length=64)]
"""Text that is often written as a bare number, such as a cost centre."""
PersonRef = Annotated[str, Field(min_length=2, max_length=120)]
"""A person by any of their ids or e-mail addresses."""


class PersonConfig(Section):
    """One human being, whatever ids they have."""

    id: Annotated[str, Field(pattern=PERSON_ID)]
    """The Slack user id, such as U0AAA1111: in Slack under Profile, More, Copy member ID."""
    name: Annotated[str, Field(max_length=200)] = ""
    """The name that messages show."""
    email: Annotated[str, Field(max_length=200)] = ""
    """The main e-mail address; letter case does not matter."""
    aliases: tuple[PersonRef, ...] = ()
    """Other ids (W0BBB2222) and e-mail addresses of the same person."""
    tz: Annotated[str, Field(max_length=60)] = "UTC"
    """The time zone in which this person reads and writes times, such as Europe/Berlin."""
    active: bool = True
    """Set to false when the person has left: they decide nothing any more and are skipped by messages."""
    delegate: Annotated[str, Field(max_length=120)] = ""
    """Who decides for this person while they are away, by id or e-mail address; `/gpu away` may name somebody else."""
    working_hours: WorkingHours | None = None
    """When this person works, in their time zone; the organisation's hours if empty, `always` for round the clock."""
    country: Country = ""
    """The country whose public holidays are free for this person, such as DE or DE-BY; the organisation's if empty."""


class TeamConfig(Section):
    """Those who ask for GPUs together and pay for them together."""

    name: Annotated[str, Field(max_length=200)] = ""
    """The name that messages show; the key if empty."""
    lead: Annotated[str, Field(max_length=120)] = ""
    """Who decides this team's requests where a rule says `lead`: a person's id or e-mail address."""
    members: tuple[PersonRef, ...] = ()
    """Who may ask in the name of this team; the lead is a member too."""
    channel: Annotated[str, Field(max_length=100)] = ""
    """The team's Slack channel, by id or name, for what its owner does not answer."""
    cost_center: Digits = ""
    """Put on every resource as the tag lessor:cost-center."""
    schedule: Annotated[str, Field(max_length=40)] = ""
    """The key of the schedule that this team's leases have unless a request names another one."""
    delegate: Annotated[str, Field(max_length=120)] = ""
    """Who decides for the lead while the lead is away and has named nobody: a person's id or e-mail address."""
    budget_owner: Annotated[str, Field(max_length=120)] = ""
    """Who decides where a rule says `budget-owner`: a person's id or e-mail address."""


class Organisation(Section):
    """Who is who, and what each team may hold."""

    name: Text
    """The organisation's name, as messages show it."""
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    """The currency of all prices and limits, as an ISO 4217 code."""
    people: Annotated[tuple[PersonConfig, ...], Field(min_length=1)]
    """Everybody who asks or decides."""
    teams: Annotated[dict[Key, TeamConfig], Field(min_length=1)]
    """Teams by key; the key stands in requests, tags and quotas."""
    groups: dict[Key, tuple[PersonRef, ...]] = Field(default_factory=dict)
    """Named groups of people for approval steps, such as finance."""
    admins: Annotated[tuple[PersonRef, ...], Field(min_length=1)]
    """Who may act on every lease and decide when nobody else can."""
    quotas: dict[Key, dict[Text, Annotated[int, Field(ge=0, le=100_000)]]] = Field(default_factory=dict)
    """GPUs that a team may hold at once: by team, then `all` or a GPU model such as A100-80GB; short for `limits`."""
    limits: Annotated[tuple[LimitConfig, ...], Field(max_length=10_000)] = ()
    """What teams, projects and people may hold at once and use in a month; see docs/quota.md."""
    cohorts: dict[Key, CohortConfig] = Field(default_factory=dict)
    """Groups of teams that lend each other GPUs, by name."""
    alerts: Annotated[tuple[Annotated[int, Field(ge=1, le=100)], ...], Field(max_length=10)] = (50, 80, 100)
    """At which percentages of a limit people are told, once a month each; an empty list tells nobody."""
    tz: Annotated[str, Field(max_length=60)] = "UTC"
    """The time zone whose calendar months limits and budgets are counted in, such as Europe/Berlin."""
    working_hours: WorkingHours = Field(default_factory=HoursConfig)
    """When people work, each in their own time zone: reminders, escalations and lapses count these hours only."""
    country: Country = ""
    """The country whose public holidays are free, such as DE or DE-BY."""


class SlackConfig(Section):
    """Where messages go and how Slack reaches the bot. Tokens are never here: SLACK_BOT_TOKEN, SLACK_APP_TOKEN."""

    approvals_channel: Annotated[str, Field(min_length=1, max_length=100)] = "gpu-approvals"
    """Where request cards with Approve and Deny are posted; id or name."""
    requests_channel: Annotated[str, Field(max_length=100)] = ""
    """Where requesters are told in public what became of their requests; empty for direct messages only."""
    admins_channel: Annotated[str, Field(max_length=100)] = ""
    """Where administrators are paged; empty for direct messages."""
    mode: Literal["socket", "http"] = "socket"
    """`socket` needs no public address; `http` listens on http_host:http_port for /slack/events."""
    http_host: Annotated[str, Field(min_length=1, max_length=200)] = "127.0.0.1"
    """The address to listen on in http mode."""
    http_port: Annotated[int, Field(ge=1, le=65_535)] = 3000
    """The port to listen on in http mode."""


class LeaseConfig(Section):
    """How long leases may be and what happens around their end."""

    min_duration: Duration = DEFAULTS.min_duration
    """The shortest lease and the least distance of a new end from now."""
    max_duration: Duration = DEFAULTS.max_total
    """The longest time that one request may ask for."""
    max_total: Duration = DEFAULTS.max_total
    """The longest total with all extensions."""
    max_gpus: Annotated[int, Field(ge=1, le=10_000)] = 64
    """The most GPUs in one request."""
    max_disk_gib: Annotated[int, Field(ge=8, le=65_536)] = 16_384
    """The largest root volume, in GiB."""
    remind_after: Duration = DEFAULTS.remind_after
    """Those who decide are reminded after this much of their working time, then after twice as much, and so on."""
    escalate_after: Duration = DEFAULTS.escalate_after
    """After this much working time without a decision the next level is asked as well."""
    escalations: Annotated[int, Field(ge=0, le=10)] = DEFAULTS.escalations
    """How many times the next level is asked because nobody answered."""
    lapse_after: Duration = timedelta(hours=18)
    """A request lapses after this much working time (two days of nine hours) without a decision; silence never
    approves."""
    warnings: Annotated[tuple[Duration, ...], Field(min_length=1, max_length=10)] = DEFAULTS.warnings
    """How long before the end the owner is warned."""
    short_warnings: Annotated[tuple[Duration, ...], Field(min_length=1, max_length=10)] = DEFAULTS.short_warnings
    """The warnings of leases that are shorter than short_lease."""
    short_lease: Duration = DEFAULTS.short_lease
    """Below this length the short warnings hold."""
    notice: Duration = DEFAULTS.notice
    """The least time between a delivered warning and the stop."""
    grace: Duration = DEFAULTS.grace
    """How long a stopped lease can be asked back before it is deleted."""
    capacity_waits: Annotated[tuple[Duration, ...], Field(max_length=20)] = DEFAULTS.capacity_waits
    """The pauses between tries while the cloud has no capacity; after the last one the request fails."""
    verify_interval: Duration = DEFAULTS.verify_interval
    """The pause between two looks that prove a deletion."""
    verify_passes: Annotated[int, Field(ge=1, le=10)] = DEFAULTS.verify_passes
    """How many clean looks in a row prove that nothing is left."""
    cleanup_limit: Duration = DEFAULTS.cleanup_limit
    """A deletion that takes longer than this pages the administrators."""
    blocked_retry: Duration = DEFAULTS.blocked_retry
    """The pause between tries of a blocked deletion."""
    auto_extensions: Annotated[int, Field(ge=0, le=100)] = DEFAULTS.auto_extensions
    """So many extensions need nobody's approval where the policy has no objection; later ones are approved."""
    extension_hold: Duration = DEFAULTS.extension_hold
    """How long past its end a lease runs on at most while people decide on its extension."""
    max_ahead: Duration = timedelta(days=90)
    """How far away the start of a reservation may be."""
    suspend_notice: Duration = DEFAULTS.suspend_notice
    """How long before a stop by its schedule the owner of a lease is told."""
    quiet_hours: QuietHours = Field(default_factory=QuietHoursConfig)
    """The owner's night, in which only the warnings of the last two hours come; `never` for none."""
    sweep_every: Duration = EVERY
    """How often every place is read and compared with the ledger."""
    people_sweep_every: Duration = timedelta(days=1)
    """How often owners and approvers are looked up, to find those who have left."""
    at_cap: AtCap = DEFAULTS.at_cap
    """What becomes of a lease that has cost what its request said at most: `warn`, `stop` (disks are kept) or `end`."""
    offer_after: Duration = DEFAULTS.offer_after
    """How long a lease whose owner has left is offered to its lead, then to its team, then to administrators."""


class PlaceConfig(Section):
    """Where leases run: one AWS account in one or more regions, one Kubernetes cluster, or a pool of machines."""

    name: Key
    """The name that people type, such as research-us."""
    provider: Literal["aws", "kubernetes", "machines"] = "aws"
    """What kind of place it is."""
    kubernetes: KubernetesConfig | None = None
    """The cluster, for a place of provider kubernetes."""
    machines: MachinesConfig | None = None
    """The pool, for a place of provider machines."""
    label: Annotated[str, Field(max_length=75)] = ""
    """What the form shows; the name if empty."""
    residency: Annotated[str, Field(max_length=40)] = ""
    """The jurisdiction in which data lies here, such as eu, for rules; unknown if empty."""
    encrypted: bool | None = None
    """Whether what is stored here is encrypted; lessor encrypts every AWS volume, so that is what holds if empty."""
    public_address: bool | None = None
    """Whether machines have public addresses here; lessor gives them none on AWS, so that is what holds if empty."""
    regions: tuple[Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")], ...] = ()
    """Regions of AWS, the preferred one first; at least one for a place of provider aws."""
    zones: tuple[Annotated[str, Field(max_length=40)], ...] = ()
    """Availability zones that may be used; all zones of the regions if empty."""
    account: Annotated[str, BeforeValidator(_digits), Field(pattern=r"^(\d{12})?$")] = ""
    """The account number of 12 digits; the account of the AWS credentials if empty."""
    role_arn: Annotated[str, Field(pattern=r"^(arn:aws[a-z-]*:iam::\d{12}:role/\S+)?$")] = ""
    """The role that is assumed in that account."""
    external_id_env: Annotated[str, Field(pattern=r"^([A-Z][A-Z0-9_]*)?$")] = ""
    """The NAME of the environment variable that holds the role's external id."""
    markets: Annotated[tuple[Market, ...], Field(min_length=1)] = (Market.ON_DEMAND,)
    """What may be bought here: on-demand, spot, capacity-block."""
    instance_types: tuple[Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")], ...] = ()
    """Types that may be used; all of the catalogue if empty."""
    subnets: dict[str, Annotated[str, Field(pattern=r"^subnet-[0-9a-f]+$")]] = Field(default_factory=dict)
    """Subnets by zone; the account's default subnets if empty."""
    security_group: Annotated[str, Field(pattern=r"^(sg-[0-9a-f]+)?$")] = ""
    """A group without inbound rules; if empty, lessor keeps one of its own in each network, for all leases there."""
    instance_profile: Annotated[str, Field(max_length=200)] = ""
    """The instance profile that lets Session Manager in."""
    ami_parameter: Annotated[str, Field(pattern=r"^(/\S+)?$")] = ""
    """The SSM parameter that holds the image id; a Deep Learning image for Ubuntu 22.04 if empty."""
    ami_parameter_arm: Annotated[str, Field(pattern=r"^(/\S+)?$")] = ""
    """The same for ARM processors (G5g, P6e-GB200), whose machines are offered only if it is set: what was built for
    x86_64 does not run on them."""
    kms_key: Annotated[str, Field(max_length=200)] = ""
    """The key for volumes; the account's default key if empty."""
    user_data_template: Annotated[str, Field(max_length=400)] = ""
    """A Jinja2 template of the first-boot script; the one that ships if empty."""
    prices: dict[str, PriceConfig] = Field(default_factory=dict)
    """Negotiated prices by instance type; the catalogue's prices if empty."""
    disks: DiskPriceConfig | None = None
    """The price of disks; the catalogue's if empty, which is in USD and not known for every region."""

    @property
    def kinds(self) -> tuple[LeaseKind, ...]:
        """What can be leased here; the first is meant where nobody says."""
        if self.provider == "kubernetes":
            return (self.kubernetes or KubernetesConfig()).kinds
        return (LeaseKind.MACHINE,)


def longest(lease: LeaseConfig) -> timedelta:
    """The longest total that any lease may reach."""
    return max(lease.max_total, lease.max_duration)
