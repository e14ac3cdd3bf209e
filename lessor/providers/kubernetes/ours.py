"""Whose an object is. Labels can be copied: destruction needs the lease's label and the server's word on who made it.

The server notes itself which manager wrote an object. Where a namespace of a lease is on record, another one of the
same name is somebody else's, whatever it says of itself (case D23). What is in a namespace of ours is the lease's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lessor.contracts import ANNOTATION_PREFIX, LABEL_LEASE, LABEL_MANAGED_BY, MANAGED_BY
from lessor.domain.resource import Kind, Resource
from lessor.providers.kubernetes.amounts import moment
from lessor.providers.kubernetes.api import FIELD_MANAGER, Obj

SKEW = timedelta(minutes=1)
UNCLEAR_FOR = timedelta(minutes=10)
"""How long a launch whose answer never came may still turn up (case C08)."""


def identity(obj: Mapping[str, Any]) -> str:
    """The id under which the ledger knows an object: `NAMESPACE/NAME@UID`, without the namespace outside of any."""
    meta = obj["metadata"]
    return f"{path(obj)}@{meta['uid']}"


def path(obj: Mapping[str, Any]) -> str:
    """`NAMESPACE/NAME`, or the name alone of what is in no namespace."""
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def labels(obj: Mapping[str, Any]) -> dict[str, str]:
    return dict(obj["metadata"].get("labels") or {})


def note(obj: Mapping[str, Any], name: str) -> str:
    """One of our annotations, such as `ends`; empty where it is not there."""
    return str((obj["metadata"].get("annotations") or {}).get(ANNOTATION_PREFIX + name, ""))


def noted_at(obj: Mapping[str, Any], name: str) -> datetime | None:
    """An annotation of ours that is an instant; `None` where it is not there or somebody has spoilt it."""
    return moment(note(obj, name))


def created_at(obj: Mapping[str, Any]) -> datetime | None:
    return moment(obj["metadata"].get("creationTimestamp"))


def ending(obj: Mapping[str, Any]) -> bool:
    """Whether somebody has begun to delete it."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def made_by_us(obj: Mapping[str, Any], lease_id: str) -> bool:
    """Carries the lease's label and our mark, and the server says that we wrote it."""
    found = labels(obj)
    marked = found.get(LABEL_LEASE) == lease_id and found.get(LABEL_MANAGED_BY) == MANAGED_BY
    return marked and any(entry.get("manager") == FIELD_MANAGER for entry in obj["metadata"].get("managedFields") or ())


def applied_by_us(obj: Mapping[str, Any], lease_id: str) -> bool:
    """Made by us and not only marked: we label what people made as well, and they may have copied our labels."""
    entries = obj["metadata"].get("managedFields") or ()
    applied = any((one.get("manager"), one.get("operation")) == (FIELD_MANAGER, "Apply") for one in entries)
    return applied and made_by_us(obj, lease_id)


@dataclass(frozen=True)
class Record:
    """What the ledger has of one lease: uids by kind and path, and the launches whose answer never came."""

    lease_id: str
    uids: Mapping[tuple[Kind, str], frozenset[str]] = field(default_factory=dict)
    unclear: tuple[Resource, ...] = ()

    @classmethod
    def of(cls, lease_id: str, known: Iterable[Resource]) -> Record:
        uids: dict[tuple[Kind, str], frozenset[str]] = {}
        unclear: list[Resource] = []
        for one in known:
            where, parted, uid = one.id.rpartition("@")
            if parted:
                uids[one.kind, where] = uids.get((one.kind, where), frozenset()) | {uid}
            elif one.token:
                unclear.append(one)
        return cls(lease_id, uids, tuple(unclear))

    def has(self, kind: Kind, obj: Mapping[str, Any]) -> bool:
        """Whether this very object is on record."""
        return str(obj["metadata"]["uid"]) in self.uids.get((kind, path(obj)), frozenset())

    def has_uid(self, kind: Kind, uid: str) -> bool:
        return any(uid in uids for (held, _), uids in self.uids.items() if held is kind)

    def proves(self, kind: Kind, obj: Obj) -> bool:
        """Ours by label, by the server's word, and not another one than the record has under that name.

        A launch whose answer never came may have made a second one since: it is not on record yet (case B27).
        """
        if not made_by_us(obj, self.lease_id):
            return False
        recorded = self.uids.get((kind, path(obj)), frozenset())
        return not recorded or obj["metadata"]["uid"] in recorded or bool(self._since(obj))

    def missing(self, made: Obj | None, now: datetime) -> tuple[Resource, ...]:
        """Launches of late that nothing shows to have been answered; `made` is the lease's namespace where it is."""
        answered = self._since(made) if made is not None else ()
        return tuple(
            one
            for one in self.unclear
            if one.created_at is not None and now - one.created_at < UNCLEAR_FOR and one not in answered
        )

    def _since(self, obj: Obj) -> tuple[Resource, ...]:
        """The launches without an answer that may have made the object: those intended before it was there."""
        made = created_at(obj)
        if made is None:
            return ()
        return tuple(one for one in self.unclear if one.created_at is not None and one.created_at - made <= SKEW)
