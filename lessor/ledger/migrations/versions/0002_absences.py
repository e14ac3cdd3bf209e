"""Who is away until when, and who stands in for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lessor.ledger.columns import Instant

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "absences",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.Column("until", Instant(), nullable=False),
        sa.Column("delegate", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("person", "since", name="pk_absences"),
    )
    op.create_index("ix_absences_until", "absences", ["until"])


def downgrade() -> None:
    op.drop_table("absences")
