"""What Slack's refusals mean for us: gone for ever, try another place, or try again."""

from __future__ import annotations

import aiohttp
from slack_sdk.errors import SlackApiError

CHANNEL_PROBLEMS = {
    "not_in_channel": "invite the app there: /invite @lessor",
    "channel_not_found": "check the id in lessor.yaml, and if the channel is private invite the app: /invite @lessor",
    "is_archived": "unarchive the channel or name another one in lessor.yaml",
    "restricted_action": "a workspace setting keeps the app from posting there; allow it or name another channel",
}
"""Errors of a channel that no retry heals, with the remedy for an administrator."""

PERSON_PROBLEMS = frozenset(
    {
        "user_not_found",
        "user_disabled",
        "user_not_visible",
        "users_not_found",
        "cannot_dm_bot",
        "channel_not_found",
        "messages_tab_disabled",
        "account_inactive_user",
    }
)
"""Errors of a direct message that no retry heals: this person cannot be reached."""

TOKEN_PROBLEMS = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope"}
    | {"not_allowed_token_type", "no_permission"}
)

TRIGGER_PROBLEMS = frozenset({"expired_trigger_id", "exchanged_trigger_id", "invalid_trigger_id", "trigger_expired"})

UNREACHABLE = (aiohttp.ClientError, TimeoutError, OSError)


def code(error: SlackApiError) -> str:
    """Slack's own word for the refusal, or `http_503` where the answer was no answer of the API."""
    data = error.response.data if hasattr(error.response, "data") else error.response
    word = data.get("error") if isinstance(data, dict) else None
    return str(word) if word else f"http_{status(error)}"


def status(error: SlackApiError) -> int:
    return int(getattr(error.response, "status_code", 0) or 0)


def trigger_refused(error: SlackApiError) -> bool:
    """Both shapes in which a trigger is refused: its own code, or `invalid_arguments` that speak of the trigger."""
    word = code(error)
    if word in TRIGGER_PROBLEMS:
        return True
    metadata = error.response.get("response_metadata") or {}
    return word == "invalid_arguments" and any("trigger" in line for line in metadata.get("messages", ()))


def transient(error: Exception) -> bool:
    """Whether the same call may succeed later: unreachable, 5xx, rate limit, or an error inside Slack."""
    if isinstance(error, UNREACHABLE):
        return True
    if not isinstance(error, SlackApiError):
        return False
    busy = {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited", "rate_limited"}
    return status(error) >= 500 or status(error) == 429 or code(error) in busy
