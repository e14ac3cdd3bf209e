"""Names of actions, forms and commands on the Slack surface: elements carry these and lease ids, nothing else."""

from __future__ import annotations

from enum import StrEnum

COMMAND = "/gpu"


class Do(StrEnum):
    """Action ids of buttons; the value is a lease id."""

    APPROVE = "approve"
    DENY = "deny"
    DETAILS = "details"
    WITHDRAW = "withdraw"
    EXTEND = "extend"
    RELEASE = "release"
    KEEP = "keep"
    RESTORE = "restore"
    AGAIN = "request-again"
    REQUEST = "request"
    NEXT_PAGE = "next-page"


class Form(StrEnum):
    """Callback ids of modals and shortcuts."""

    REQUEST = "request-form"
    DENY = "deny-form"
    EXTEND = "extend-form"
    RESTORE = "restore-form"
    DETAILS = "details-view"
    SHORTCUT = "request-gpus"
