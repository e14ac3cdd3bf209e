"""Runs the migrations over the connection that it is given; the caller's transaction makes them whole or not at all."""

from __future__ import annotations

from alembic import context

from lessor.ledger import booking_models, meter_models
from lessor.ledger.models import Base

MODELS = (booking_models, meter_models)
"""Modules whose tables are known once they are imported."""

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, transactional_ddl=True
)
with context.begin_transaction():
    context.run_migrations()
