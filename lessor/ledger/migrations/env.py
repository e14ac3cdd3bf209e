"""Runs the migrations over the connection that it is given; the caller's transaction makes them whole or not at all."""

from __future__ import annotations

from alembic import context

from lessor.ledger.meter_models import TickRow

context.configure(
    connection=context.config.attributes["connection"], target_metadata=TickRow.metadata, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
