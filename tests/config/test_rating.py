"""Rates of clusters are found by the catalogue's names of models, and by no other spelling."""

from __future__ import annotations

import pytest

from lessor.config import loads
from tests.config.sample import VALID, refusal

HEAD, PLACES, TAIL = VALID.partition("places:\n")


def with_cluster(rates: str, resources: str = "{}") -> str:
    place = f"  - {{name: lab, provider: kubernetes, kubernetes: {{rates: {rates}, resources: {resources}}}}}\n"
    return f"{HEAD}{PLACES}{place}{TAIL}"


@pytest.mark.parametrize(
    "rates",
    [
        "{A100-80GB: {hourly: 2.5}, A100-80GB-1g.10gb: {hourly: 0.4}, MI300X: {hourly: 3}}",
        "{T4-shared-4: {hourly: 0.1}, X900-Ultra: {hourly: 9}}",
    ],
)
def test_the_names_of_the_catalogue_and_names_that_it_does_not_have_are_fine(rates: str) -> None:
    assert loads(with_cluster(rates)).place("lab") is not None


@pytest.mark.parametrize(("spelt", "meant"), [("a100 80gb", "A100-80GB"), ("H100-80GB", "H100"), ("mi300x", "MI300X")])
def test_another_spelling_is_told_with_the_right_one(spelt: str, meant: str) -> None:
    (line,) = refusal(with_cluster(f"{{'{spelt}': {{hourly: 2.5}}}}"))
    told = f"places[0].kubernetes.rates.{spelt}: '{spelt}' is spelt '{meant}' in the catalogue"
    assert line == f"lessor.yaml:19: {told}; write that, or nothing is found under it"


def test_the_model_of_a_resource_has_the_same_names() -> None:
    (line,) = refusal(with_cluster("{}", "{example.test/gpu: a100-80gb}"))
    assert "places[0].kubernetes.resources.example.test/gpu: 'a100-80gb' is spelt 'A100-80GB'" in line
