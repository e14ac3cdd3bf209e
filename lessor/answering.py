"""What an act is told where no workflow answers it any more. Part of the gateway."""

from __future__ import annotations

import structlog

from lessor.contracts import Act, Answer
from lessor.domain.lease import Lease, describe

log = structlog.get_logger(__name__)


def of_ended(lease: Lease, act: Act) -> Answer:
    """What a click on a lease whose workflow has ended is told: how it ended, who decided and when."""
    if lease.final:
        by, at = lease.decided_by, lease.decided_at or lease.closed_at
        return Answer(False, "wrong-state", f"{lease.id} is {describe(lease)}", lease.id, lease.state.value, by, at)
    message = (
        f"{lease.id} has no running workflow although it is {describe(lease)}; nothing was changed. "
        "The regular look over all leases takes it up and tells the administrators"
    )
    log.error("workflow-missing", lease_id=lease.id, state=lease.state.value, verb=act.verb.value)
    return Answer(False, "no-workflow", message, lease.id, lease.state.value)
