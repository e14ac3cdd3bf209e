"""Names of actions, forms and commands on the Slack surface: elements carry these and lease ids, nothing else."""

from __future__ import annotations

from enum import StrEnum

COMMAND = "/gpu"


class Do(StrEnum):
    """Action ids of buttons; the value is a lease id, or one with the key of one of its proposals."""

    APPROVE = "approve"
    APPROVE_TYPED = "approve-typed"
    COUNTER = "counter"
    DENY = "deny"
    ASK = "ask"
    ACCEPT = "accept"
    DECLINE = "decline"
    REPLY = "reply"
    REVISE = "revise"
    GRANT = "grant"
    GRANT_TYPED = "grant-typed"
    REJECT = "reject"
    TAKE = "take"
    EXEMPT = "exempt"
    SNOOZE = "snooze"
    DISPUTE = "dispute"
    STOP = "stop"
    STOP_TYPED = "stop-typed"
    START = "start"
    CONSENT = "consent"
    DETAILS = "details"
    WITHDRAW = "withdraw"
    EXTEND = "extend"
    RELEASE = "release"
    KEEP = "keep"
    RESTORE = "restore"
    AGAIN = "request-again"
    REQUEST = "request"
    NEXT_PAGE = "next-page"
    HOME_PAGE = "home-page"
    FLEET_PAGE = "fleet-page"


class Form(StrEnum):
    """Callback ids of modals and shortcuts."""

    REQUEST = "request-form"
    DENY = "deny-form"
    APPROVE = "approve-form"
    COUNTER = "counter-form"
    ASK = "ask-form"
    REPLY = "reply-form"
    GRANT = "grant-form"
    REJECT = "reject-form"
    EXEMPT = "exempt-form"
    SNOOZE = "snooze-form"
    DISPUTE = "dispute-form"
    STOP = "stop-form"
    EXTEND = "extend-form"
    RESTORE = "restore-form"
    DETAILS = "details-view"
    SHORTCUT = "request-gpus"
