"""Column types that keep instants exact on every database: aware in, UTC stored, aware out."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import BigInteger, DateTime, Dialect
from sqlalchemy.types import TypeDecorator

from lessor.domain.errors import instant


class Instant(TypeDecorator[datetime]):
    """A moment, stored in UTC to the microsecond. A datetime without a zone is refused (`Refused`, "naive-time")."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else instant("the instant to store", value)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Seconds(TypeDecorator[datetime]):
    """A moment on a full second, stored as seconds since 1970: eight bytes, in each of many million rows."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else int(instant("the instant to store", value).timestamp())

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromtimestamp(value, UTC)
