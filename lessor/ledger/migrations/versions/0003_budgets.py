"""What leases take of each month, and ceilings of projects, people and cohorts beside those of teams."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lessor.ledger.columns import Instant

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rows of this table are locks only, so that nothing is lost with it.
    op.drop_table("quota_teams")
    op.create_table(
        "quota_scopes",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name="pk_quota_scopes"),
    )
    for column in ("project", "person"):
        op.add_column("reservations", sa.Column(column, sa.Text(), server_default="", nullable=False))
        op.create_index(f"ix_reservations_{column}", "reservations", [column])
    _commitments()
    op.create_table(
        "budget_alerts",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("hard", sa.Boolean(), nullable=False),
        sa.Column("month", sa.Text(), nullable=False),
        sa.Column("threshold", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "kind", "model", "hard", "month", "threshold", name="pk_budget_alerts"),
    )


def downgrade() -> None:
    op.drop_table("budget_alerts")
    op.drop_table("commitments")
    with op.batch_alter_table("reservations") as table:
        for column in ("project", "person"):
            table.drop_index(f"ix_reservations_{column}")
            table.drop_column(column)
    op.drop_table("quota_scopes")
    op.create_table(
        "quota_teams",
        sa.Column("team", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("team", name="pk_quota_teams"),
    )


def _commitments() -> None:
    op.create_table(
        "commitments",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("month", sa.Text(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("money", sa.BigInteger(), nullable=True),
        sa.Column("ahead_time", sa.BigInteger(), nullable=False),
        sa.Column("ahead_money", sa.BigInteger(), nullable=True),
        sa.Column("ahead_from", Instant(), nullable=True),
        sa.Column("ahead_to", Instant(), nullable=True),
        sa.Column("running", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("lease_id", "month", "part", name="pk_commitments"),
    )
    for column in ("team", "project", "person"):
        op.create_index(f"ix_commitments_month_{column}", "commitments", ["month", column])
