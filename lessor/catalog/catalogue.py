"""The catalogue: GPU models, the instance types that carry them, and dated prices, so that a quote works offline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from lessor.catalog.naming import squeezed, words
from lessor.catalog.pricelist import DatedDisks, DatedList, DatedPrices
from lessor.catalog.shipped import shipped
from lessor.domain.money import Money
from lessor.domain.request import Market
from lessor.domain.slices import profile

SLICE = re.compile(r"(.+?)[\s_-]+(?:mig[\s_-]?)?((?:\d+c\.)?\d+g\.\d+gb\S*)", re.IGNORECASE)


@dataclass(frozen=True)
class GpuModel:
    """A model of GPU: its name here, the memory of one in GB, and the counts in which machines carry it."""

    name: str
    memory_gib: int
    counts: tuple[int, ...] = ()
    family: str = ""
    reported_mib: int = 0
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class GpuType:
    """An instance type as the catalogue knows it; `local_disk` is storage that a stop wipes."""

    name: str
    model: str
    count: int
    vcpus: int
    local_disk: bool
    architecture: str = "x86_64"


class Catalogue:
    """Models, types and dated prices. Implements `PriceList`; `version` names the newest list in it."""

    def __init__(
        self,
        models: Iterable[GpuModel],
        types: Iterable[GpuType],
        prices: DatedPrices,
        beyond: Iterable[GpuModel] = (),
    ) -> None:
        """`beyond` are models that no instance type carries, but clusters and machines do."""
        self.types: Mapping[str, GpuType] = {one.name: one for one in types}
        self._sold = {one.name: one for one in models}
        self._models = {**self._sold, **{one.name: one for one in beyond}}
        self._prices = prices
        self.version = prices.version

    def models(self) -> tuple[GpuModel, ...]:
        """Every model that instance types carry, with the counts in which they do, small memory first."""
        return _by_memory(self._sold.values())

    def model(self, name: str) -> GpuModel | None:
        """The model of exactly this name, also that of a slice such as `A100-80GB-1g.10gb`."""
        return self._models.get(name) or self._slice(name)

    def canonical(self, text: str) -> str | None:
        """The name of the model that people mean by `text`, the smallest memory first if several fit."""
        spelt = squeezed(text[:200])
        exact = next((name for name in self._models if squeezed(name) == spelt), None)
        if exact or not words(text).model:
            return exact
        found = self._slice(text) or next(iter(self.matching(text)), None)
        return found.name if found else None

    def matching(self, text: str, memory_gib: int = 0) -> tuple[GpuModel, ...]:
        """The models that `text` can mean and that have at least `memory_gib`, small memory first.

        A memory in the text itself is exact, as in `A100 80GB`. An empty text means any model.
        """
        said = words(text)
        return tuple(
            one
            for one in _by_memory(self._models.values())
            if _means(said.model, one) and said.memory_gib in (0, one.memory_gib) and one.memory_gib >= memory_gib
        )

    def reported(self, name: str, memory_mib: int) -> GpuModel:
        """The model for what the provider's API calls it; made up from that if the catalogue has none.

        A memory in the name itself counts before the one that is reported, which may be that of a slice.
        """
        said = words(name)
        known = [one for one in self._models.values() if said.model and _means(said.model, one)]
        if not known:
            return GpuModel("-".join(name.split()), round(memory_mib / 1024))
        exact = [one for one in known if one.memory_gib == said.memory_gib]
        return min(exact or known, key=lambda one: abs(one.reported_mib - memory_mib))

    def gpus(self, instance_type: str) -> tuple[str, int] | None:
        """Model and number of GPUs of an instance type; `None` for one that is not here."""
        found = self.types.get(instance_type)
        return (found.model, found.count) if found else None

    def hourly(self, instance_type: str, region: str, market: Market, at: datetime) -> Money | None:
        """The price in force at `at`; `None` is unknown, never zero."""
        return self._prices.hourly(instance_type, region, market, at)

    def disk_monthly(self, region: str, at: datetime) -> Money | None:
        """What a GiB of disk costs for a calendar month at `at`; `None` is unknown, never zero."""
        return self._prices.disk_monthly(region, at)

    def _slice(self, text: str) -> GpuModel | None:
        """A slice of a model, as in `a100 80gb 1g.10gb`."""
        match = SLICE.fullmatch(text[:200].strip())
        cut = profile(match[2]) if match else None
        whole = self.canonical(match[1]) if match and cut else None
        return GpuModel(f"{whole}-{cut.name}", cut.memory_gib) if whole and cut else None


@lru_cache(maxsize=1)
def load_catalogue() -> Catalogue:
    """The catalogue that this package ships; read once, since nothing changes it."""
    gpus, prices = shipped("gpus.yaml"), shipped("prices.yaml")
    types = [GpuType(name, **facts) for name, facts in gpus["types"].items()]
    models = [_model(entry, types) for entry in gpus["models"]]
    beyond = [_model(entry, ()) for entry in shipped("cluster.yaml")["models"]]
    lists = [
        DatedList(entry["from"], tuple(entry["regions"]), {k: Decimal(v) for k, v in entry["prices"].items()})
        for entry in prices["lists"]
    ]
    disks = [
        DatedDisks(entry["from"], {region: Decimal(price) for region, price in entry["gib_month"].items()})
        for entry in prices["disks"]
    ]
    return Catalogue(models, types, DatedPrices(lists, prices["currency"], disks), beyond)


def _model(entry: Mapping[str, Any], types: Iterable[GpuType]) -> GpuModel:
    return GpuModel(
        name=entry["name"],
        memory_gib=entry["memory_gib"],
        counts=tuple(sorted({one.count for one in types if one.model == entry["name"]})),
        family=entry["family"],
        reported_mib=entry["reported_mib"],
        aliases=tuple(entry["aliases"]),
    )


def _by_memory(models: Iterable[GpuModel]) -> tuple[GpuModel, ...]:
    return tuple(sorted(models, key=lambda one: (one.memory_gib, one.name)))


def _means(said: str, model: GpuModel) -> bool:
    with_memory = f"{model.family}{model.memory_gib}"
    return not said or said in {squeezed(word) for word in (model.name, model.family, with_memory, *model.aliases)}
