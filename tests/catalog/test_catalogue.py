"""The catalogue: names that people use, facts that hold together, prices with dates and none that is zero."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.resources import files

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lessor.catalog import load_catalogue
from lessor.catalog.pricelist import DatedDisks, DatedList, DatedPrices
from lessor.domain.money import Money
from lessor.domain.request import Market

CATALOGUE = load_catalogue()
TODAY = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a100 80 gb", "A100-80GB"),
        ("A100-80", "A100-80GB"),
        ("A100_80G", "A100-80GB"),
        ("a10080gb", "A100-80GB"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB"),
        ("A100‑80GB", "A100-80GB"),
        ("A100\u00a080\u200bGB", "A100-80GB"),
        ("a100", "A100-40GB"),
        ("h100", "H100"),
        ("H100 80GB HBM3", "H100"),
        ("H200 141 GB", "H200"),
        ("l4", "L4"),
        ("L40s 48gb", "L40S"),
        ("a10g", "A10G"),
        ("A10", "A10G"),
        ("Tesla T4", "T4"),
        ("v100 32gb", "V100-32GB"),
        ("v100", "V100-16GB"),
        ("rtx pro 6000", "RTX-PRO-6000"),
        ("b200", "B200"),
    ],
)
def test_names_that_people_use(text: str, name: str) -> None:
    assert CATALOGUE.canonical(text) == name


@pytest.mark.parametrize(
    "text", ["", " ", "nvidia", "80gb", "gpu", "h100 94gb", "a100 96", "gtx 1080", "4", "x" * 9999]
)
def test_names_that_mean_nothing_here(text: str) -> None:
    assert CATALOGUE.canonical(text) is None


@given(st.text(max_size=300))
def test_any_text_is_a_known_model_or_none(text: str) -> None:
    found = CATALOGUE.canonical(text)
    assert found is None or CATALOGUE.model(found) is not None


def test_every_name_means_itself() -> None:
    assert [CATALOGUE.canonical(model.name) for model in CATALOGUE.models()] == [m.name for m in CATALOGUE.models()]


def test_models_have_the_counts_of_their_types() -> None:
    counts = {model.name: model.counts for model in CATALOGUE.models()}
    assert counts["H100"] == (1, 8)
    assert counts["A100-80GB"] == (8,)
    assert counts["L4"] == (1, 4, 8)
    assert all(counts.values())
    assert {kind.model for kind in CATALOGUE.types.values()} == set(counts)


def test_what_the_api_reports_has_our_name() -> None:
    assert CATALOGUE.reported("A100", 81920).name == "A100-80GB"
    assert CATALOGUE.reported("A100", 40960).name == "A100-40GB"
    assert CATALOGUE.reported("RTX PRO Server 6000", 98304).name == "RTX-PRO-6000"
    unheard = CATALOGUE.reported("X900 Ultra", 524288)
    assert (unheard.name, unheard.memory_gib) == ("X900-Ultra", 512)


def test_every_priced_type_is_a_known_type_and_costs_something() -> None:
    history = CATALOGUE._prices._history
    assert {kind for _, kind in history} <= set(CATALOGUE.types)
    assert min(price for entries in history.values() for _, price in entries) > Decimal("0.4")


def test_what_is_not_listed_is_unknown() -> None:
    known = CATALOGUE.hourly("g5.xlarge", "us-east-1", Market.ON_DEMAND, TODAY)
    assert known == Money(Decimal("1.006"))
    assert CATALOGUE.hourly("g5.xlarge", "us-east-1", Market.SPOT, TODAY) is None
    assert CATALOGUE.hourly("g5.xlarge", "mars-north-1", Market.ON_DEMAND, TODAY) is None
    assert CATALOGUE.hourly("p9.48xlarge", "us-east-1", Market.ON_DEMAND, TODAY) is None


def test_the_version_names_the_newest_list() -> None:
    assert CATALOGUE.version == f"catalogue {max(one for one in _dates()):%Y-%m-%d}"


def _dates() -> list[datetime]:
    return [since for entries in CATALOGUE._prices._history.values() for since, _ in entries]


@given(st.lists(st.dates(date(2020, 1, 1), date(2030, 1, 1)), min_size=1, max_size=6, unique=True), st.datetimes())
def test_the_price_is_that_of_the_latest_list_before(days: list[date], at: datetime) -> None:
    instant = at.replace(tzinfo=UTC)
    lists = [DatedList(day, ("r",), {"t": Decimal(n + 1)}) for n, day in enumerate(days)]
    found = DatedPrices(lists).hourly("t", "r", Market.ON_DEMAND, instant)
    before = [(day, Decimal(n + 1)) for n, day in enumerate(days) if day <= instant.date()]
    assert found == (Money(max(before)[1]) if before else None)


@pytest.mark.parametrize("price", ["0", "-1", "0.00"])
def test_a_price_of_zero_is_an_error(price: str) -> None:
    with pytest.raises(ValueError, match="never free"):
        DatedPrices([DatedList(date(2026, 1, 1), ("r",), {"t": Decimal(price)})])


def test_a_gib_of_disk_has_a_dated_price_in_every_region_that_has_prices_of_machines() -> None:
    """us-east-1 at 0.08 USD, Frankfurt at 0.0952 USD since gp3 is sold; before that, and elsewhere, nobody knows."""
    assert CATALOGUE.disk_monthly("us-east-1", TODAY) == Money(Decimal("0.08"))
    assert CATALOGUE.disk_monthly("eu-central-1", TODAY) == Money(Decimal("0.0952"))
    assert CATALOGUE.disk_monthly("us-east-1", datetime(2020, 11, 30, 23, 59, tzinfo=UTC)) is None
    assert CATALOGUE.disk_monthly("mars-north-1", TODAY) is None
    listed = yaml.safe_load((files("lessor.catalog") / "prices.yaml").read_text())
    regions = {region for one in listed["lists"] for region in one["regions"]}
    assert {region for region in regions if CATALOGUE.disk_monthly(region, TODAY) is None} == set()


def test_a_later_list_of_disks_holds_from_its_day_on_and_none_is_free() -> None:
    lists = [DatedDisks(date(2026, 7, 1), {"r": Decimal("0.09")}), DatedDisks(date(2025, 1, 1), {"r": Decimal("0.08")})]
    prices = DatedPrices([], "EUR", lists)
    assert prices.disk_monthly("r", datetime(2026, 6, 30, 23, 59, 59, tzinfo=UTC)) == Money(Decimal("0.08"), "EUR")
    assert prices.disk_monthly("r", datetime(2026, 7, 1, tzinfo=UTC)) == Money(Decimal("0.09"), "EUR")
    with pytest.raises(ValueError, match="it is never free"):
        DatedPrices([], "EUR", [DatedDisks(date(2026, 7, 1), {"r": Decimal(0)})])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mi300x", "MI300X"),
        ("AMD Instinct MI300X OAM", "MI300X"),
        ("a30", "A30"),
        ("H100 NVL", "H100-NVL"),
        ("H100 PCIe", "H100"),
        ("H100-NVL", "H100-NVL"),
        ("A100-80GB-1g.10gb", "A100-80GB-1g.10gb"),
        ("a100 80gb 1g.10gb", "A100-80GB-1g.10gb"),
        ("a100-40gb mig-3g.20gb", "A100-40GB-3g.20gb"),
        ("1g.10gb", None),
        ("unheard 1g.10gb", None),
    ],
)
def test_models_of_clusters_and_slices_have_names_too(text: str, name: str | None) -> None:
    assert CATALOGUE.canonical(text) == name


def test_what_only_clusters_have_is_not_among_the_models_that_types_carry() -> None:
    found = CATALOGUE.model("MI300X")
    assert found is not None
    assert (found.memory_gib, found.counts) == (192, ())
    assert found not in CATALOGUE.models()
    assert [one.name for one in CATALOGUE.matching("MI300X")] == ["MI300X"]


def test_a_slice_has_the_memory_that_its_profile_says() -> None:
    found = CATALOGUE.model("A100-80GB-3g.40gb")
    assert found is not None
    assert (found.name, found.memory_gib) == ("A100-80GB-3g.40gb", 40)


def test_a_memory_in_the_name_counts_before_the_one_that_is_reported() -> None:
    assert CATALOGUE.reported("A100-SXM4-80GB", 9856).name == "A100-80GB"
    assert CATALOGUE.reported("A100-SXM4-40GB", 9856).name == "A100-40GB"
    assert CATALOGUE.reported("", 81920).name == ""
