"""Where messages stand, so that each is posted once and then updated where it stands."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlalchemy import bindparam, or_, select

from lessor.ledger.book import Book
from lessor.ledger.models import MESSAGES
from lessor.ports import MessageRef

_COLUMNS = (MESSAGES.c.key, MESSAGES.c.lease_id, MESSAGES.c.channel, MESSAGES.c.ts)
_BY_KEY = select(*_COLUMNS).where(MESSAGES.c.key == bindparam("wanted"))
_OF_LEASE = select(*_COLUMNS).where(MESSAGES.c.lease_id == bindparam("lease")).order_by(MESSAGES.c.key)


class SqlMessageBook(Book):
    """`ports.MessageBook` in SQL."""

    def message(self, key: str) -> MessageRef | None:
        with self._db.read() as connection:
            row = connection.execute(_BY_KEY, {"wanted": key}).one_or_none()
        return None if row is None else MessageRef(*row)

    def save_message(self, ref: MessageRef) -> None:
        """Store where it stands. An intention never overwrites a message that was posted: it would be posted twice."""
        row = {"key": ref.key, "lease_id": ref.lease_id, "channel": ref.channel, "ts": ref.ts}
        with self._db.write() as connection:
            connection.execute(self._save, row)

    def messages(self, lease_id: str) -> tuple[MessageRef, ...]:
        """All messages of a lease, by key."""
        with self._db.read() as connection:
            rows = connection.execute(_OF_LEASE, {"lease": lease_id}).all()
        return tuple(MessageRef(*row) for row in rows)

    @cached_property
    def _save(self) -> Any:
        insert = self._db.insert(MESSAGES)
        new = {name: insert.excluded[name] for name in ("lease_id", "channel", "ts")}
        posted_or_open = or_(insert.excluded.ts != "", MESSAGES.c.ts == "")
        return insert.on_conflict_do_update(index_elements=[MESSAGES.c.key], set_=new, where=posted_or_open)
