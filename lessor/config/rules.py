"""The policy and security sections of `lessor.yaml`; conditions are compiled by `lessor.policyfile`."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from lessor.config.durations import Duration
from lessor.config.model import DEFAULTS, Text
from lessor.config.section import Key, Section
from lessor.domain.request import Market


def frozen(value: object) -> object:
    """`value` with tuples for lists: strict validation takes no list from a validator, only from the file."""
    if isinstance(value, dict):
        return {key: frozen(inner) for key, inner in value.items()}
    return tuple(frozen(inner) for inner in value) if isinstance(value, list) else value


def _step(value: object) -> object:
    return {"name": value, "approvers": (value,)} if isinstance(value, str) else frozen(value)


class StepConfig(Section):
    """One approval: any `quorum` of `approvers`."""

    name: Text
    """What messages call this step."""
    approvers: Annotated[tuple[Text, ...], Field(min_length=1)]
    """`lead`, `lead:TEAM`, `budget-owner`, `budget-owner:TEAM`, `group:NAME`, `slack-group:HANDLE` (or its id),
    `person:ID` or `admins`."""
    quorum: Annotated[int, Field(ge=1, le=20)] = 1
    """How many of them have to approve."""
    parallel: bool = False
    """Ask at the same time as the step before it, not after it."""


Steps = Annotated[
    tuple[Annotated[StepConfig, BeforeValidator(_step, json_schema_input_type=StepConfig | str)], ...],
    Field(min_length=1, max_length=10),
]


class SuggestConfig(Section):
    """A cheaper or better fit. It never blocks: the requester reads it and can take it with a click."""

    text: Annotated[str, Field(min_length=1, max_length=500)]
    """What is proposed and why, for the requester."""
    market: Annotated[Market, Field(strict=False)] | None = None
    """The market to ask for instead."""
    instance_type: Annotated[str, Field(pattern=r"^([a-z0-9-]+\.[a-z0-9-]+)?$")] = ""
    """The instance type to ask for instead."""
    count: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """The number of GPUs to ask for instead."""


OUTCOMES = "allowed: approve, {deny: reason}, {require: [steps]}, {suggest: {text: ...}} or {max: length}"


def _outcome(value: object) -> object:
    if isinstance(value, str) and value != "approve":
        raise ValueError(f"is '{value[:40]}'; {OUTCOMES}")
    return {"approve": True} if value == "approve" else frozen(value)


class OutcomeConfig(Section):
    """What a rule does: at most one of approve, deny and require; suggest and max come alone or with one of them."""

    approve: bool = False
    """Approve without asking anybody, unless another rule asks or denies or the price is unknown."""
    deny: Annotated[str, Field(max_length=1_000)] = ""
    """Deny, with the reason that the requester reads."""
    require: Steps | None = None
    """Ask these people, one step after the other; a step with `parallel: true` together with the one before it."""
    suggest: SuggestConfig | None = None
    """Propose something that is cheaper or fits better."""
    max: Duration | None = None
    """The longest total that is allowed where the rule holds; what is longer, with all extensions, is denied."""

    @model_validator(mode="after")
    def _one_or_more(self) -> "OutcomeConfig":
        deciding = [self.approve, bool(self.deny.strip()), self.require is not None].count(True)
        if deciding > 1:
            raise ValueError("has more than one of approve, deny and require; make a rule of each")
        if not (deciding or self.suggest or self.max is not None):
            raise ValueError(f"needs an outcome; {OUTCOMES}")
        if self.max is not None and not self.max:
            raise ValueError("has a max of 0; deny instead, with the reason")
        return self


class RuleConfig(Section):
    """One rule. All rules apply and the strictest outcome wins, so their order never matters."""

    name: Key
    """The name under which decisions quote this rule."""
    when: Annotated[str, Field(min_length=1, max_length=4_000)]
    """The condition in CEL over the facts that docs/policy.md lists."""
    then: Annotated[OutcomeConfig, BeforeValidator(_outcome, json_schema_input_type=OutcomeConfig | Literal["approve"])]
    """`approve`, `{deny: reason}`, `{require: [steps]}`, `{suggest: {text: ...}}` or `{max: length}`."""
    reason: Annotated[str, Field(max_length=1_000)] = ""
    """Why, for people; the condition itself if empty."""


def _lead_step() -> Any:
    return (StepConfig(name="lead", approvers=("lead",)),)


class DefaultConfig(Section):
    """What holds when no rule speaks of a request, or a fact cannot be known."""

    require: Steps = Field(default_factory=_lead_step)
    """Ask these people, one step after the other."""


class PolicyConfig(Section):
    """When a request is approved, denied or shown to people."""

    default: DefaultConfig = Field(default_factory=DefaultConfig)
    """What holds when no rule speaks of a request, or a fact cannot be known."""
    rules: Annotated[tuple[RuleConfig, ...], Field(max_length=1_000)] = ()
    """The rules; an empty list asks people every time."""
    step_up_above: Annotated[Decimal, Field(gt=0, le=1_000_000_000, max_digits=14)] | None = None
    """From this total cost on, in the organisation's currency, approving takes typing the lease's id."""
    reask_share: Annotated[Decimal, Field(ge=0, le=10)] = DEFAULTS.reask_share
    """What rose in price, or changed in a fact, by more than this share is decided once more; 0.1 is 10 %."""


class DataConfig(Section):
    """What work with data of one sensitivity needs of the place where it runs."""

    places: tuple[Key, ...] = ()
    """The places that may be used, by name; any of them if empty."""
    residency: tuple[Text, ...] = ()
    """Where the data may lie, as in the residency of places; anywhere if empty."""
    encrypted: bool = False
    """Only where storage is encrypted."""
    no_public_address: bool = False
    """Only where machines have no public address."""


class SecurityConfig(Section):
    """Built-in rules, each of which is off until it is switched on. They deny like rules of the policy."""

    require_encryption: bool = False
    """Deny every place whose storage is not encrypted."""
    forbid_public_address: bool = False
    """Deny every place whose machines have public addresses."""
    data: dict[Key, DataConfig] = Field(default_factory=dict)
    """Sensitivity classes of data by name. Where there are any, every request has to name one of them."""
