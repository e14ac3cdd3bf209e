"""Runs the migrations over the connection that it is given; the caller's transaction makes them whole or not at all."""

from __future__ import annotations

from alembic import context

from lessor.ledger.models import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
