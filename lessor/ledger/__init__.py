"""The SQL record: leases, the chain of events, quota reservations, intents and resources, messages, submissions."""

from lessor.ledger.sql import SqlLedger, open_ledger

__all__ = ["SqlLedger", "open_ledger"]
