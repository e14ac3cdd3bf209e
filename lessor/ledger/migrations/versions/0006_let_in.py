"""Since when people may be in machines of the organisation's own, so that an end without hooks is not believed.

Whoever held a machine before may have been let in by hooks: that is not known to be over until it is seen or confirmed.
So may whoever took one: a grant that nobody has heard of yet may have done its work.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from lessor.ledger.columns import Instant

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("bookings", sa.Column("let_in_at", Instant(), nullable=True))
    op.execute("UPDATE bookings SET let_in_at = COALESCE(granted_at, since, begins) WHERE phase IN ('held', 'ending')")


def downgrade() -> None:
    op.drop_column("bookings", "let_in_at")
