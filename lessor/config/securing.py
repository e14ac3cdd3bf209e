"""Checks of the security section and of suggestions: what they name has to exist, or a rule would say nothing."""

from __future__ import annotations

from collections.abc import Iterator

from lessor.catalog import load_catalogue
from lessor.config.configuration import Config
from lessor.config.problems import KeyPath
from lessor.config.rules import SuggestConfig
from lessor.config.wording import nearest

Found = Iterator[tuple[KeyPath, str]]


def check_security(config: Config) -> Found:
    """Places and residencies that there are not, and places that say too little to be judged."""
    places = {place.name: place for place in config.places}
    residencies = list(dict.fromkeys(place.residency for place in config.places if place.residency))
    for name, data in config.security.data.items():
        path: KeyPath = ("security", "data", name)
        for index, place in enumerate(data.places):
            if place not in places:
                there = ", ".join(places)
                yield (
                    (*path, "places", index),
                    f"there is no place '{place}'{nearest(place, list(places))}; there are: {there}",
                )
        for index, residency in enumerate(data.residency):
            if residency not in residencies:
                there = ", ".join(residencies) or "none, add `residency` to places"
                yield (
                    (*path, "residency", index),
                    f"no place has the residency '{residency}'{nearest(residency, residencies)}; there are: {there}",
                )
    demanding = [name for name, data in config.security.data.items() if data.residency]
    for index, one in enumerate(config.places):
        if demanding and not one.residency:
            message = f"says no residency, so whether {' and '.join(demanding)} data may be there is unknown; add it"
            yield ("places", index), message


def check_suggestions(config: Config) -> Found:
    """Suggestions that nobody could take."""
    for index, rule in enumerate(config.policy.rules):
        if rule.then.suggest is not None:
            yield from _suggestion(config, rule.then.suggest, ("policy", "rules", index, "then", "suggest"))


def _suggestion(config: Config, said: SuggestConfig, path: KeyPath) -> Found:
    markets = list(dict.fromkeys(market for place in config.places for market in place.markets))
    if said.market is not None and said.market not in markets:
        yield (*path, "market"), f"no place offers {said.market}; they offer: {', '.join(markets)}"
    listed = [kind for place in config.places for kind in place.instance_types]
    if said.instance_type and said.instance_type not in listed:
        known = list(load_catalogue().types)
        if said.instance_type not in known:
            hint = nearest(said.instance_type, known)
            yield (*path, "instance_type"), f"'{said.instance_type}' is no GPU type of the catalogue{hint}"
