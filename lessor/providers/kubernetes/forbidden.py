"""Kinds that a cluster lets nobody read: what they decide is unknown, and the rest of the cluster is not (case D15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lessor.domain.resource import Kind, Resource
from lessor.ports import PermanentError
from lessor.providers.kubernetes.api import ApiKind, Obj
from lessor.providers.kubernetes.errors import together
from lessor.providers.kubernetes.site import Site


@dataclass
class Forbidden:
    """What was refused during one look. An empty list of a kind in `kinds` says nothing of what there is."""

    kinds: set[Kind] = field(default_factory=set)
    refused: set[tuple[ApiKind, str]] = field(default_factory=set)
    """Kinds with the namespace in which they may not be read; none of it where that was asked of all at once."""
    problems: list[str] = field(default_factory=list)

    def listed(
        self, site: Site, what: ApiKind, decides: Kind, namespace: str = "", *, labels: str = ""
    ) -> Sequence[Obj]:
        """All of a kind, or nothing where that is forbidden, which is kept. Raises `ProviderError` for all else."""
        try:
            return site.api.list(what, namespace, labels=labels)
        except PermanentError as error:
            if error.code != "forbidden":
                raise
            self.kinds.add(decides)
            self.refused.add((what, namespace))
            self.problems.append(str(error))
            return ()

    def within(self, namespace: str) -> frozenset[ApiKind]:
        """What may not be read in this namespace, or with nothing in all at once."""
        return frozenset(what for what, where in self.refused if where == namespace)

    def hides(self, seen: Resource, namespace: str) -> str:
        """Why what is there is only known by its pods; empty of what was read itself."""
        return self.problem if seen.type in {one.kind for one in self.within(namespace)} else ""

    @property
    def unread(self) -> tuple[Kind, ...]:
        return tuple(sorted(self.kinds))

    @property
    def problem(self) -> str:
        return together(self.problems)
