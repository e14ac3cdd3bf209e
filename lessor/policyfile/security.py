"""The built-in security rules: what `security` of lessor.yaml switches on, written as rules like everybody's own.

Being rules, they are explained, tested, replayed and put on record like the others. Their names begin with `security/`,
which no name in the file can.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from lessor.config.configuration import Config
from lessor.config.model import PlaceConfig
from lessor.config.problems import KeyPath
from lessor.config.rules import DataConfig
from lessor.domain.policy import Outcome, Rule, StepSpec
from lessor.policyfile.gathering import Site

ENCRYPTED_BY_LESSOR = {"aws": True}
PUBLIC_BY_LESSOR = {"aws": False}
"""What holds where a place says nothing, since lessor itself makes the machines so."""


def sites(config: Config) -> dict[str, Site]:
    """What rules can know of each place, by its name."""
    return {place.name: _site(place) for place in config.places}


def security_rules(config: Config) -> Iterator[tuple[Rule, KeyPath]]:
    """The rules that are switched on, each with the key path that did it."""
    security = config.security
    if security.require_encryption:
        where = _where(place.name for place in config.places if _site(place).encrypted)
        yield (
            _denying("encryption", "!place.encrypted", f"storage has to be encrypted; {where}"),
            ("require_encryption",),
        )
    if security.forbid_public_address:
        where = _where(place.name for place in config.places if _site(place).public_address is False)
        reason = f"machines may have no public address; {where}"
        yield _denying("public-address", "place.public_address", reason), ("forbid_public_address",)
    for name, data in security.data.items():
        for rule in _data_rules(config, name, data):
            yield rule, ("data", name)
    if security.data:
        known = _list(security.data)
        reason = f"its data has none of the classes {', '.join(security.data)}, so administrators decide"
        admins = (StepSpec("security", ("admins",)),)
        unclassified = f"!(request.data in {known})"
        yield Rule("security/unclassified", unclassified, Outcome.REQUIRE, reason, admins), ("data",)


def _data_rules(config: Config, name: str, data: DataConfig) -> Iterator[Rule]:
    fitting = _where(place.name for place in config.places if _fits(place, data))
    demands = (
        ("places", f"!(place.name in {_list(data.places)})", "may not run there", data.places),
        ("residency", f"!(place.residency in {_list(data.residency)})", _stays(data), data.residency),
        ("encryption", "!place.encrypted", "needs encrypted storage", data.encrypted),
        ("public-address", "place.public_address", "may have no public address", data.no_public_address),
    )
    for kind, when, what, wanted in demands:
        if wanted:
            condition = f"request.data == {json.dumps(name)} && {when}"
            yield _denying(f"{name}/{kind}", condition, f"{name} data {what}; {fitting}")


def _fits(place: PlaceConfig, data: DataConfig) -> bool:
    site = _site(place)
    return (
        (not data.places or place.name in data.places)
        and (not data.residency or site.residency in data.residency)
        and (not data.encrypted or site.encrypted is True)
        and (not data.no_public_address or site.public_address is False)
    )


def _site(place: PlaceConfig) -> Site:
    encrypted, public = place.encrypted, place.public_address
    return Site(
        residency=place.residency or None,
        encrypted=ENCRYPTED_BY_LESSOR.get(place.provider) if encrypted is None else encrypted,
        public_address=PUBLIC_BY_LESSOR.get(place.provider) if public is None else public,
        markets=tuple(market.value for market in place.markets),
        instance_types=place.instance_types,
        kinds=place.kinds,
    )


def _denying(name: str, when: str, reason: str) -> Rule:
    return Rule(f"security/{name}", when, Outcome.DENY, reason)


def _stays(data: DataConfig) -> str:
    return f"has to stay in {' or '.join(data.residency)}"


def _where(names: Iterable[str]) -> str:
    found = list(names)
    return f"choose one of these places: {', '.join(found)}" if found else "no place of lessor.yaml is fit for it"


def _list(items: Iterable[str]) -> str:
    return json.dumps(list(items), ensure_ascii=False)
