"""What leases were seen doing, what holds their stops back, and entries of the chain that are of no single lease."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lessor.ledger.columns import Instant, Seconds

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

FIGURES = ("engine", "util", "memory", "power", "cpu")
OF_LEASES = "fk_events_lease_id_leases"
DISPUTED = "ix_events_disputed"


def upgrade() -> None:
    _readings()
    _hours()
    _stops()
    _free_the_chain()
    only = sa.text("type = 'verdict-disputed'")
    op.create_index(DISPUTED, "events", ["at"], sqlite_where=only, postgresql_where=only)


def downgrade() -> None:
    op.drop_index(DISPUTED, "events")
    _bind_the_chain()
    for table in ("stop_claims", "brakes", "meter_heard", "meter_hours", "meter_readings", "meter_ticks"):
        op.drop_table(table)


def _readings() -> None:
    op.create_table(
        "meter_ticks",
        sa.Column("at", Seconds(), autoincrement=False, nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("summed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("at", name="pk_meter_ticks"),
    )
    op.create_table(
        "meter_readings",
        sa.Column("at", Seconds(), autoincrement=False, nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("working", sa.Float(53), nullable=False),
        *(sa.Column(name, sa.Float(53), nullable=True) for name in FIGURES),
        sa.Column("observation", sa.Text(), nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("at", "lease_id", name="pk_meter_readings"),
        sqlite_with_rowid=False,
    )


def _hours() -> None:
    op.create_table(
        "meter_hours",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("hour", Seconds(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("ticks", "busy", "idle", "unknown")),
        sa.Column("gpu_busy", sa.Float(53), nullable=False),
        *(sa.Column(f"peak_{name}", sa.Float(53), nullable=True) for name in FIGURES),
        sa.PrimaryKeyConstraint("lease_id", "hour", name="pk_meter_hours"),
    )
    op.create_table(
        "meter_heard",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("lease_id", name="pk_meter_heard"),
    )


def _stops() -> None:
    op.create_table(
        "brakes",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("doubt", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("subject", name="pk_brakes"),
    )
    op.create_table(
        "stop_claims",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("lease_id", "at", name="pk_stop_claims"),
    )
    op.create_index("ix_stop_claims_at", "stop_claims", ["at"])


def _free_the_chain() -> None:
    """Let the chain speak of what is no lease. That each lease it speaks of is there, `verify` finds out."""
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(OF_LEASES, "events", type_="foreignkey")
        return
    with op.batch_alter_table("events") as table:
        table.drop_constraint(OF_LEASES, type_="foreignkey")
    _guard_sqlite()


def _bind_the_chain() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.create_foreign_key(OF_LEASES, "events", "leases", ["lease_id"], ["id"])
        return
    with op.batch_alter_table("events") as table:
        table.create_foreign_key(OF_LEASES, "leases", ["lease_id"], ["id"])
    _guard_sqlite()


def _guard_sqlite() -> None:
    """SQLite makes a new table to change one, and its triggers go with the old."""
    for act in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER events_no_{act.lower()} BEFORE {act} ON events "
            "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
        )
