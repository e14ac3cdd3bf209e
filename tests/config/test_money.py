"""What `lessor.yaml` says of money beside limits: what follows at a cap, the price of disks, the currency."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from lessor.config import loads
from lessor.directory import ConfigDirectory
from lessor.domain.money import Money
from lessor.domain.terms import AtCap
from lessor.placing import ec2_places
from lessor.providers.aws import OwnDiskPrice
from tests.config.sample import VALID, changed, refusal

PLACE = "    zones: [us-east-1a]\n"


@pytest.mark.parametrize("at_cap", list(AtCap))
def test_what_follows_at_a_cap_goes_with_the_lease(at_cap: AtCap) -> None:
    assert loads(changed("  grace: 7d", f"  grace: 7d\n  at_cap: {at_cap.value}")).terms().at_cap is at_cap


def test_a_lease_is_stopped_at_its_cap_unless_something_else_is_said() -> None:
    assert loads(VALID).terms().at_cap is AtCap.STOP
    [text] = refusal(changed("  grace: 7d", "  grace: 7d\n  at_cap: explode"))
    assert "lease.at_cap: is 'explode'; allowed: warn, stop or end" in text


def test_amounts_without_a_currency_are_in_that_of_the_organisation() -> None:
    config = loads(changed("organisation:\n", "organisation:\n  currency: CHF\n"))
    (requester, *_) = ConfigDirectory(config).people
    assert config.limits(requester).currency == "CHF"


def test_the_price_of_disks_is_exact_and_in_the_currency_of_the_organisation() -> None:
    text = changed(PLACE, PLACE + "    disks: {gib_month: 0.0712345, since: 2026-07-01}\n")
    config = loads(text.replace("organisation:\n", "organisation:\n  currency: EUR\n", 1))
    [place] = config.places
    own = ec2_places(config)[place.name].disks
    assert own == OwnDiskPrice(Money(Decimal("0.0712345"), "EUR"), date(2026, 7, 1))
    assert not own.holds(datetime.fromisoformat("2026-06-30T23:59:59+00:00"))


def test_without_a_price_of_its_own_a_place_has_the_catalogues() -> None:
    [place] = ec2_places(loads(VALID)).values()
    assert place.disks is None


@pytest.mark.parametrize("price", ["0", "-0.08", "1001", "cheap"])
def test_disks_are_never_free_nor_paid_by_the_provider(price: str) -> None:
    [text] = refusal(changed(PLACE, PLACE + f"    disks: {{gib_month: {price}}}\n"))
    assert "places[0].disks.gib_month" in text
