"""What a cluster's rates and names of resources must not contradict: a model has one spelling, the catalogue's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lessor.catalog import load_catalogue
from lessor.config.model import PlaceConfig
from lessor.config.problems import KeyPath


def check_rates(place: PlaceConfig, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """A rate under another spelling would be nobody's rate, and the price unknown; other models than ours are fine."""
    cluster = place.kubernetes
    if cluster is None:
        return
    named: Iterable[tuple[KeyPath, str]] = (
        *(((*path, "kubernetes", "rates", model), model) for model in cluster.rates),
        *(((*path, "kubernetes", "resources", name), model) for name, model in cluster.resources.items()),
    )
    catalogue = load_catalogue()
    for where, model in named:
        meant = catalogue.canonical(model)
        if meant is not None and meant != model:
            yield where, f"'{model}' is spelt '{meant}' in the catalogue; write that, or nothing is found under it"
