"""Machines of the organisation's own: which are whose from when to when, and how they are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lessor.ledger.columns import Instant

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEY = ("place", "lease_id", "machine")


def upgrade() -> None:
    op.create_table(
        "bookings",
        *(sa.Column(name, sa.Text(), nullable=False) for name in (*KEY, "gpus")),
        sa.Column("begins", Instant(), nullable=False),
        sa.Column("ends", Instant(), nullable=False),
        sa.Column("keep", sa.Integer(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("since", Instant(), nullable=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("token", "address", "owner", "team", "cost_center")),
        *(sa.Column(name, Instant(), nullable=True) for name in ("fresh_at", "granted_at", "open_until")),
        sa.PrimaryKeyConstraint(*KEY, name="pk_bookings"),
    )
    op.create_index("ix_bookings_lease_id", "bookings", ["lease_id"])
    op.create_index("ix_bookings_place_phase", "bookings", ["place", "phase"])
    op.create_table(
        "machine_health",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("place", "machine", "fitness")),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("place", "machine", name="pk_machine_health"),
    )


def downgrade() -> None:
    op.drop_table("machine_health")
    op.drop_table("bookings")
