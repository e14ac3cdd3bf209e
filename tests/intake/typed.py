"""What tests of typed requests are read against: a Wednesday afternoon in Berlin, two teams, two places."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lessor.domain.request import Limits, Need, Place, Workload
from lessor.gateway import PlaceChoice
from lessor.intake import Draft, parse_request_text
from lessor.offering import ModelChoice
from lessor.ports import Team
from lessor.when import End

NOW = datetime(2026, 6, 3, 13, 11, tzinfo=UTC)  # a Wednesday, 15:11 in Berlin
BERLIN = "Europe/Berlin"
US = Place("aws", "research-us", "", "")


LIMITS = Limits(("research", "platform"), ("research-us", "eu"))


@dataclass(frozen=True)
class Offer:
    teams: tuple[Team, ...] = (Team("research"), Team("platform"))
    places: tuple[PlaceChoice, ...] = (
        PlaceChoice("research-us", "US", "aws", ("us-east-1", "us-west-2"), ("us-east-1a",)),
        PlaceChoice("eu", "EU", "aws", ("eu-west-1",)),
    )
    limits: Limits = LIMITS
    models: tuple[ModelChoice, ...] = ()


def read(text: str, offer: Offer | None = None) -> Draft:
    return parse_request_text(text, BERLIN, NOW, offer or Offer())


WHOLE = '2 x a100 80gb for 8h training "fine-tune the ranking model" team:research on-demand in research-us'
EXPECTED = Draft(
    need=Need("A100-80GB", 2),
    end=End(duration=timedelta(hours=8), zone=BERLIN),
    end_text="for 8h",
    team="research",
    workload=Workload.TRAINING,
    purpose="fine-tune the ranking model",
    place=US,
)
