"""What the organisation has negotiated: prices of machines and of their disks."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import Field, WithJsonSchema

from lessor.config.section import Section

Hourly = Annotated[Decimal, Field(gt=0, le=100_000, max_digits=12)]
Day = Annotated[date, WithJsonSchema({"type": "string", "format": "date"})]


class PriceConfig(Section):
    """Hourly prices of one instance type that the organisation has negotiated, in its own currency."""

    on_demand: Hourly | None = None
    """An hour on demand."""
    spot: Hourly | None = None
    """An hour on the spot market."""
    capacity_block: Hourly | None = None
    """An hour in a capacity block."""
    since: Day | None = None
    """The first day on which these prices hold."""


class DiskPriceConfig(Section):
    """What the organisation pays for the disks of machines, in its own currency."""

    gib_month: Annotated[Decimal, Field(gt=0, le=1_000, max_digits=12)]
    """A GiB for a calendar month."""
    since: Day | None = None
    """The first day on which this price holds."""
