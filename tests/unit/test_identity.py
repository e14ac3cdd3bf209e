"""Lease ids: derived, typed by people, never colliding by construction."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessor.domain.identity import CROCKFORD, LEASE_ID, lease_id, parse_lease_id


def test_the_alphabet_has_no_letters_that_look_like_others() -> None:
    assert len(set(CROCKFORD)) == 32
    assert not set("ilou") & set(CROCKFORD)
    assert CROCKFORD.islower()


def test_ids_never_change_between_versions() -> None:
    assert lease_id("slack:T1:view:1") == "gpu-evn63reb"
    assert lease_id("slack:T1:view:1", 1) == "gpu-2wf30dbc"


@given(st.text(), st.integers(0, 20))
def test_an_id_has_its_form_and_depends_on_nothing_else(interaction: str, salt: int) -> None:
    made = lease_id(interaction, salt)
    assert LEASE_ID.fullmatch(made)
    assert lease_id(interaction, salt) == made
    assert lease_id(interaction, salt + 1) != made
    assert parse_lease_id(made) == made


def test_ids_are_spread_evenly() -> None:
    ids = [lease_id(f"interaction {n}") for n in range(20_000)]
    assert len(set(ids)) == 20_000
    for place in range(4, 12):
        counts = Counter(i[place] for i in ids)
        assert set(counts) == set(CROCKFORD)
        assert max(counts.values()) < 2 * min(counts.values())


@pytest.mark.parametrize(
    "typed",
    [
        "gpu-7k3qxa2m",
        "GPU-7K3QXA2M",
        "7k3qxa2m",
        "  gpu-7k3qxa2m\n",
        "`gpu-7k3qxa2m`",
        "*gpu-7k3qxa2m*",
        "gpu-7k3qxa2m.",
        "\u201cgpu-7k3qxa2m\u201d",
        "\u2018gpu-7k3qxa2m\u2019,",
        "\u200bgpu-7k3q\u200bxa2m\ufeff",
        "gpu\u20117k3qxa2m",
        "gpu\u20137k3qxa2m",
        "\u00a0gpu-7k3qxa2m\u00a0",
        "(gpu-7k3qxa2m)",
    ],
)
def test_what_people_type_and_paste(typed: str) -> None:
    assert parse_lease_id(typed) == "gpu-7k3qxa2m"


@pytest.mark.parametrize(("typed", "meant"), [("gpu-OoIiLl01", "gpu-00111101"), ("oilOIL99", "gpu-01101199")])
def test_letters_that_look_like_digits_are_read_as_digits(typed: str, meant: str) -> None:
    assert parse_lease_id(typed) == meant


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "gpu-",
        "gpu-7k3qxa2",
        "gpu-7k3qxa2mm",
        "gpu-7k3qxa2u",
        "gpu-7k3q xa2m",
        "cpu-7k3qxa2m",
        "gpu-gpu-7k3qxa2m",
        "-",
    ],
)
def test_what_is_no_lease_id(typed: str) -> None:
    assert parse_lease_id(typed) is None


@given(st.text(max_size=40))
def test_any_text_is_an_id_or_none(text: str) -> None:
    found = parse_lease_id(text)
    assert found is None or LEASE_ID.fullmatch(found)
