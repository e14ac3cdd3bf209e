"""What every book of the ledger holds: the database, and nothing else."""

from __future__ import annotations

from lessor.ledger.database import Database


class Book:
    """A part of the ledger over one database."""

    def __init__(self, database: Database) -> None:
        self._db = database
