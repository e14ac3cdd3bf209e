"""What was about to be created and what came of it. Nothing is ever removed: deletion is checked against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Row, bindparam, case, func, select, true, update

from lessor.domain.resource import Condition, Kind, Resource
from lessor.ledger.book import Book
from lessor.ledger.models import INTENTS, RESOURCES
from lessor.ledger.snapshots import PLACE, in_utc
from lessor.ports import Intent

_INTENTS = select(INTENTS).where(INTENTS.c.lease_id == bindparam("lease")).order_by(INTENTS.c.at, INTENTS.c.token)
_RESOURCES = select(RESOURCES).where(RESOURCES.c.lease_id == bindparam("lease")).order_by(RESOURCES.c.number)
_CONFIRM = (
    update(INTENTS)
    .where(INTENTS.c.lease_id == bindparam("lease"), INTENTS.c.token == bindparam("of_token"))
    .values(confirmed=true())
)
_KEPT_IF_BLANK = ("region", "zone", "type", "token")


class SqlIntentLog(Book):
    """`ports.IntentLog` in SQL."""

    def intend(self, intent: Intent) -> None:
        """Store it before the call. The same lease and token again is a new try: open until it is confirmed anew."""
        row = {
            "lease_id": intent.lease_id,
            "token": intent.token,
            "place": PLACE.dump(intent.place),
            "what": intent.what,
            "at": in_utc(intent.at),
            "confirmed": intent.confirmed,
        }
        with self._db.write() as connection:
            connection.execute(self._intend, row)
            self._see(connection, intent.lease_id, intent.resources, intent.token)

    def confirm(self, lease_id: str, token: str, resources: Sequence[Resource]) -> None:
        """Store what came of an intent; a second answer adds to the first.

        Raises `LookupError` when there is no such intent; the resources are on record nevertheless.
        """
        with self._db.write() as connection:
            known = connection.execute(_CONFIRM, {"lease": lease_id, "of_token": token}).rowcount
            self._see(connection, lease_id, resources, token)
        if not known:
            raise LookupError(f"{lease_id} has no intent {token}; the {len(resources)} resources were recorded")

    def intents(self, lease_id: str) -> tuple[Intent, ...]:
        """The lease's intents, oldest first, each with the resources that came of it as last seen."""
        with self._db.read() as connection:
            rows = connection.execute(_INTENTS, {"lease": lease_id}).all()
            resources = connection.execute(_RESOURCES, {"lease": lease_id}).all()
        return tuple(
            Intent(
                row.lease_id,
                row.token,
                PLACE.load(row.place),
                row.what,
                row.at,
                tuple(_resource(r) for r in resources if r.intent == row.token),
                row.confirmed,
            )
            for row in rows
        )

    def resources(self, lease_id: str) -> tuple[Resource, ...]:
        """Every resource ever recorded, in the order in which they came; those that came together by kind and id."""
        with self._db.read() as connection:
            rows = connection.execute(_RESOURCES, {"lease": lease_id}).all()
        return tuple(_resource(row) for row in rows)

    def seen(self, lease_id: str, resources: Sequence[Resource]) -> None:
        """Store the last seen condition of each. `unknown` is not a sight: it leaves the last one as it was (law 1)."""
        with self._db.write() as connection:
            self._see(connection, lease_id, resources, "")

    @cached_property
    def _intend(self) -> Any:
        insert = self._db.insert(INTENTS)
        new = {"at": insert.excluded.at, "confirmed": insert.excluded.confirmed}
        return insert.on_conflict_do_update(index_elements=[INTENTS.c.lease_id, INTENTS.c.token], set_=new)

    @cached_property
    def _upsert(self) -> Any:
        insert = self._db.insert(RESOURCES)
        new, old = insert.excluded, RESOURCES.c
        unseen = new.condition == Condition.UNKNOWN.value
        changes: dict[str, Any] = {name: case((new[name] == "", old[name]), else_=new[name]) for name in _KEPT_IF_BLANK}
        changes["condition"] = case((unseen, old.condition), else_=new.condition)
        changes["reason"] = case((unseen, old.reason), else_=new.reason)
        changes["created_at"] = func.coalesce(new.created_at, old.created_at)
        changes["intent"] = case((old.intent == "", new.intent), else_=old.intent)
        keys = [old.lease_id, old.kind, old.resource_id]
        return insert.on_conflict_do_update(index_elements=keys, set_=changes)

    def _see(self, connection: Connection, lease_id: str, resources: Iterable[Resource], intent: str) -> None:
        # One order for everybody, so that two batches with the same rows never wait for each other in a circle.
        rows = [_row(lease_id, resource, intent) for resource in sorted(resources, key=lambda r: r.ref)]
        if rows:
            connection.execute(self._upsert, rows)


def _row(lease_id: str, resource: Resource, intent: str) -> dict[str, object]:
    return {
        "lease_id": lease_id,
        "kind": resource.kind.value,
        "resource_id": resource.id,
        "intent": intent,
        "condition": resource.condition.value,
        "region": resource.region,
        "zone": resource.zone,
        "type": resource.type,
        "created_at": in_utc(resource.created_at),
        "reason": resource.reason,
        "token": resource.token,
    }


def _resource(row: Row[Any]) -> Resource:
    return Resource(
        Kind(row.kind),
        row.resource_id,
        Condition(row.condition),
        row.region,
        row.zone,
        row.type,
        row.created_at,
        row.reason,
        row.token,
    )
