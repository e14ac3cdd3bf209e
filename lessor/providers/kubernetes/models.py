"""From a resource and the labels of a node to what it is: a model, a slice of one, or a turn on a shared one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lessor.catalog.catalogue import GpuModel
from lessor.catalog.cluster import ClusterNames, Vendor, load_names
from lessor.catalog.naming import words
from lessor.domain.slices import profile, shared
from lessor.providers.kubernetes.amounts import count
from lessor.providers.kubernetes.shapes import GpuShape
from lessor.providers.kubernetes.site import Site

SLICED = "-MIG-"
SHARED, RENAMED = "-SHARED", ".shared"
PARTITION = re.compile(r"([a-z]+)_(nps\d+)")
VRAM = re.compile(r"(\d{1,4})(?:G|GB|GiB)")

Labels = Mapping[str, str]


def named(site: Site, resource: str, labels: Labels) -> GpuShape | None:
    """What one of `resource` is on a node with these labels; `None` for what is no GPU, as far as anybody has said.

    Its model is empty where the node does not say it.
    """
    names = load_names()
    vendor = names.vendor(resource)
    told = site.config.resources.get(resource, "")
    if vendor is not None:
        base = resource.removesuffix(RENAMED)
        reader = _Reader(site, names, vendor, labels, told)
        if base == vendor.whole:
            return reader.whole(resource)
        if vendor.sliced and base.startswith(vendor.sliced):
            return reader.slice(resource, base.removeprefix(vendor.sliced))
        partition = PARTITION.fullmatch(resource.removeprefix(f"{vendor.domain}/"))
        if partition is not None and (parts := names.partitions_of(partition[1], reader.model().name)):
            return reader.partition(resource, parts)
        return reader.told(resource) if told else None
    return GpuShape(told, resource, _memory(site, told)) if told else None


@lru_cache(maxsize=1_000)
def known(resource: str) -> bool:
    """Whether the catalogue says that pods that ask for the resource get GPUs; asked for every container there is."""
    names = load_names()
    vendor = names.vendor(resource)
    if vendor is None:
        return False
    base = resource.removesuffix(RENAMED)
    partition = PARTITION.fullmatch(resource.removeprefix(f"{vendor.domain}/"))
    sliced = bool(vendor.sliced) and base.startswith(vendor.sliced)
    return base == vendor.whole or sliced or (partition is not None and partition[1] in names.partitions)


@dataclass(frozen=True)
class _Reader:
    """One node's labels as one vendor writes them; `told_model` is what the organisation says the resource is."""

    site: Site
    names: ClusterNames
    vendor: Vendor
    labels: Labels
    told_model: str = ""

    def whole(self, resource: str) -> GpuShape:
        """All GPUs of the node alike: whole ones, or slices of one size (`single`), taken in turns or not."""
        cut = self._cut()
        turns = self._turns(resource, self.vendor.replicas)
        if cut:
            return self._sliced(resource, cut, turns)
        model = self.model()
        return self._shape(resource, model.name, model.memory_gib, Fraction(1), turns)

    def slice(self, resource: str, cut: str) -> GpuShape:
        """Slices under a name of their own (`mixed`)."""
        return self._sliced(resource, cut, self._turns(resource, (f"{self.vendor.sliced}{cut}.replicas",)))

    def partition(self, resource: str, parts: int) -> GpuShape:
        """Partitions of an accelerator, each with a part of its memory."""
        model = self.model()
        cut = resource.rpartition("/")[2].partition("_")[0]
        name = model.name if parts == 1 or not model.name else f"{model.name}-{cut}"
        return self._shape(resource, name, model.memory_gib // parts, Fraction(1, parts), 1)

    def told(self, resource: str) -> GpuShape:
        """What the organisation says that it is, where labels do not; how many take turns may be a part of the name."""
        model, _, turns = self.told_model.partition("-shared-")
        share = shared(Fraction(1), count(turns) or 1)
        return GpuShape(self.told_model, resource, _memory(self.site, model), share)

    def model(self) -> GpuModel:
        """The physical GPU's model; what the organisation has said where the node has no label.

        Without both its name is empty, and where several models have that name and nothing tells the memory.
        """
        product = self._product().removesuffix(SHARED).partition(SLICED)[0]
        if not product:
            return GpuModel(self.told_model, _memory(self.site, self.told_model))
        named_so = self.names.labels.get(product)
        if named_so:
            return self.site.catalogue.model(named_so) or GpuModel(named_so, self._memory_gib())
        spelt = product.replace("_", "-").removeprefix("NVIDIA-")
        # The memory that a node with slices tells is that of a slice.
        memory = 0 if self._cut() else self._memory_mib()
        if not memory and words(spelt).model and len(self.site.catalogue.matching(spelt)) > 1:
            return GpuModel("", 0)
        known = self.site.catalogue.reported(spelt, memory)
        return known if known.memory_gib else GpuModel(known.name, self._memory_gib())

    def _sliced(self, resource: str, cut: str, turns: int) -> GpuShape:
        found, model = profile(cut), self.model()
        if found is None or not model.name:
            # Such as `MIG-INVALID`: it is cut up in a way that the node itself cannot say.
            return GpuShape("", resource)
        share = found.share(self.names.slices_of(model.name))
        return self._shape(resource, f"{model.name}-{found.name}", found.memory_gib, share, turns)

    def _shape(self, resource: str, model: str, memory: int, share: Fraction, turns: int) -> GpuShape:
        if not turns:
            return self.told(resource)
        if turns > 1 and model:
            partitioned = self.labels.get(self.vendor.sharing) == "mps"
            memory = memory // turns if partitioned else memory
            model = f"{model}-shared-{turns}"
        return GpuShape(model, resource, memory, shared(share, turns), self._nodes(turns))

    def _nodes(self, turns: int) -> dict[str, tuple[str, ...]]:
        chosen = [*self._first(self.vendor.product), *self._first(self.vendor.partition)]
        chosen += self._first(self.vendor.replicas) if turns > 1 else ()
        return {key: (self.labels[key],) for key in chosen}

    def _turns(self, resource: str, keys: Sequence[str]) -> int:
        """How many take turns on each; 0 where it is shared and nobody says by how many."""
        said = next((count(self.labels[key]) or 1 for key in self._first(keys)), 1)
        is_shared = self._product().endswith(SHARED) or resource.endswith(RENAMED)
        return 0 if is_shared and said == 1 else said

    def _cut(self) -> str:
        """The profile into which all GPUs of the node are cut; empty where they are whole."""
        told = next((self.labels[key] for key in self._first(self.vendor.partition)), "")
        return self._product().removesuffix(SHARED).partition(SLICED)[2] or told

    def _first(self, keys: Sequence[str]) -> Sequence[str]:
        """The first of these labels that the node has."""
        return [key for key in keys if self.labels.get(key)][:1]

    def _product(self) -> str:
        return next((self.labels[key] for key in self._first(self.vendor.product)), "")

    def _memory_mib(self) -> int:
        for key in self.vendor.memory:
            text = self.labels.get(key, "")
            spelt = VRAM.fullmatch(text)
            if spelt or text.isdecimal():
                return int(spelt[1]) * 1024 if spelt else int(text)
        return 0

    def _memory_gib(self) -> int:
        return round(self._memory_mib() / 1024)


def _memory(site: Site, model: str) -> int:
    known = site.catalogue.model(model)
    return known.memory_gib if known else 0
