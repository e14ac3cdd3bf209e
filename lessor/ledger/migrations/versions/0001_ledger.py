"""The ledger as it was first written."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lessor.ledger.columns import Instant

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

GENESIS = "0" * 64


def upgrade() -> None:
    _leases()
    _events()
    _submissions()
    _quotas()
    _resources()
    _messages()
    if op.get_bind().dialect.name == "sqlite":
        _guard_sqlite()
    else:
        _guard_postgresql()


def downgrade() -> None:
    for table in ("messages", "resources", "intents", "reservations", "quota_teams", "submissions", "events"):
        op.drop_table(table)
    for table in ("chain_head", "leases"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION lessor_append_only()")
        op.execute("DROP FUNCTION lessor_head_grows()")


def _leases() -> None:
    op.create_table(
        "leases",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("ends_at", Instant(), nullable=True),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_leases"),
    )
    for column in ("owner", "team", "state", "ends_at"):
        op.create_index(f"ix_leases_{column}", "leases", [column])


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("snapshot_hash", sa.Text(), nullable=False),
        sa.Column("prev_hash", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_events"),
        sa.ForeignKeyConstraint(["lease_id"], ["leases.id"], name="fk_events_lease_id_leases"),
        sa.UniqueConstraint("lease_id", "revision", "position", name="uq_events_lease_id_revision_position"),
    )
    head = op.create_table(
        "chain_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("entries", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_chain_head"),
        sa.CheckConstraint("id = 1", name="ck_chain_head_single"),
    )
    op.bulk_insert(head, [{"id": 1, "entries": 0, "hash": GENESIS}])


def _submissions() -> None:
    op.create_table(
        "submissions",
        sa.Column("interaction", sa.Text(), nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("started", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("interaction", name="pk_submissions"),
        sa.UniqueConstraint("lease_id", name="uq_submissions_lease_id"),
    )
    op.create_index("ix_submissions_started", "submissions", ["started"])


def _quotas() -> None:
    op.create_table(
        "quota_teams",
        sa.Column("team", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("team", name="pk_quota_teams"),
    )
    op.create_table(
        "reservations",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("lease_id", name="pk_reservations"),
        sa.CheckConstraint("gpus >= 0", name="ck_reservations_not_negative"),
    )
    op.create_index("ix_reservations_team", "reservations", ["team"])


def _resources() -> None:
    op.create_table(
        "intents",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("lease_id", "token", name="pk_intents"),
    )
    op.create_table(
        "resources",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=False),
        sa.Column("condition", sa.Text(), nullable=False),
        sa.Column("region", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_resources"),
        sa.UniqueConstraint("lease_id", "kind", "resource_id", name="uq_resources_lease_id_kind_resource_id"),
    )


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("ts", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_messages"),
    )
    op.create_index("ix_messages_lease_id", "messages", ["lease_id"])


def _guard_sqlite() -> None:
    for act in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER events_no_{act.lower()} BEFORE {act} ON events "
            "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
        )
    op.execute(
        "CREATE TRIGGER chain_head_no_delete BEFORE DELETE ON chain_head "
        "BEGIN SELECT RAISE(ABORT, 'the head of the chain stays'); END"
    )
    op.execute(
        "CREATE TRIGGER chain_head_grows BEFORE UPDATE ON chain_head WHEN NEW.entries <= OLD.entries "
        "BEGIN SELECT RAISE(ABORT, 'the chain only grows'); END"
    )


def _guard_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION lessor_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END$$"
    )
    op.execute(
        "CREATE FUNCTION lessor_head_grows() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN IF NEW.entries <= OLD.entries THEN RAISE EXCEPTION 'the chain only grows'; END IF; RETURN NEW; END$$"
    )
    for act, rows in (("UPDATE", "ROW"), ("DELETE", "ROW"), ("TRUNCATE", "STATEMENT")):
        op.execute(
            f"CREATE TRIGGER events_no_{act.lower()} BEFORE {act} ON events "
            f"FOR EACH {rows} EXECUTE FUNCTION lessor_append_only()"
        )
    for act, rows in (("DELETE", "ROW"), ("TRUNCATE", "STATEMENT")):
        op.execute(
            f"CREATE TRIGGER chain_head_no_{act.lower()} BEFORE {act} ON chain_head "
            f"FOR EACH {rows} EXECUTE FUNCTION lessor_append_only()"
        )
    op.execute(
        "CREATE TRIGGER chain_head_grows BEFORE UPDATE ON chain_head FOR EACH ROW EXECUTE FUNCTION lessor_head_grows()"
    )
