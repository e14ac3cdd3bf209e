"""Cases D09 and D10 where they are decided: what people are called, as Kubernetes takes it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from lessor.providers.kubernetes.naming import DIGEST, label_value

ALLOWED = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


def test_what_fits_is_kept() -> None:
    assert [label_value(text) for text in ("ml", "vision-2", "gpu-7k3qxa2m", "A_b.C", "x" * 63)] == [
        "ml",
        "vision-2",
        "gpu-7k3qxa2m",
        "A_b.C",
        "x" * 63,
    ]


def test_what_does_not_fit_stays_readable() -> None:
    assert re.fullmatch(r"a-b-x-test-[0-9a-f]{20}", label_value("a.b@x.test"))
    assert re.fullmatch(r"equipe-vision-[0-9a-f]{20}", label_value("équipe vision"))
    assert re.fullmatch(r"x{42}-[0-9a-f]{20}", label_value("x" * 64))
    assert re.fullmatch(r"[0-9a-f]{20}", label_value("用户"))


def test_a_text_that_looks_like_another_ones_value_gets_its_own() -> None:
    taken = label_value("a@x.test")
    assert label_value(taken) != taken
    assert label_value("0" * DIGEST) != "0" * DIGEST


@given(st.text(st.characters(), max_size=300))
def test_every_value_is_allowed(text: str) -> None:
    value = label_value(text)
    assert 1 <= len(value) <= 63
    assert ALLOWED.fullmatch(value)


@given(st.lists(st.text(st.sampled_from("aA-_.@ 0é"), max_size=70), unique=True, min_size=2, max_size=40))
def test_two_texts_never_share_a_value(texts: list[str]) -> None:
    assert len({label_value(text) for text in texts}) == len(texts)
