"""The most that teams, projects and people may have, and what follows when it is used up."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field, model_validator

from lessor.config.section import Key, Section
from lessor.domain.quota import Then

SCOPE = r"^(team|project|person):\S+$"


class LimitConfig(Section):
    """The most of one thing for one scope: exactly one of gpus, gpu_hours and money."""

    scope: Annotated[str, Field(pattern=SCOPE)]
    """`team:KEY`, `project:KEY` or `person:ID`; `team:*` gives every team its own, and so on."""
    gpus: Annotated[int, Field(ge=0, le=100_000)] | None = None
    """GPUs at once."""
    gpu_hours: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    """GPU-hours in a calendar month."""
    money: Annotated[Decimal, Field(ge=0, le=1_000_000_000, max_digits=14)] | None = None
    """Money in a calendar month, in the organisation's currency."""
    model: Annotated[str, Field(max_length=64)] = ""
    """Only GPUs of this model, such as A100-80GB; all models together if empty."""
    hard: bool = True
    """Set to false to warn only: then rules may look at it, and nothing is refused for not fitting into it."""
    then: Then | None = None
    """What follows when money is used up: `alert` tells people, `freeze` takes no new requests, `end` ends leases too.

    `freeze` if left out where the limit is hard, else `alert`.
    """

    @model_validator(mode="after")
    def _exactly_one(self) -> "LimitConfig":
        if [self.gpus, self.gpu_hours, self.money].count(None) != 2:
            raise ValueError("needs exactly one of gpus, gpu_hours and money; write a line for each")
        if self.then is not None and self.money is None:
            raise ValueError("has `then`, which is for limits of money only; leave it out, or limit money")
        return self

    @property
    def follows(self) -> Then:
        """What follows when it is used up."""
        if self.money is None:
            return Then.ALERT
        return self.then or (Then.FREEZE if self.hard else Then.ALERT)


class CohortConfig(Section):
    """Teams that lend each other the GPUs that they do not use, up to what they may hold together."""

    teams: Annotated[tuple[Key, ...], Field(min_length=2)]
    """Its teams; each needs a hard limit of GPUs at once."""
    borrow: dict[Key, Annotated[int, Field(ge=0, le=100_000)]] = Field(default_factory=dict)
    """By team, how many GPUs it may hold beyond its own limit; a team that is not here only lends."""
