"""Who we are in Slack: asked once at the start, so that no acknowledgement ever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError

from bot import slack_errors
from bot.slack_client import SlackClient

_PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0)

log = structlog.get_logger(__name__)


class StartError(Exception):
    """The bot cannot start; the message is one line that says what to do."""


@dataclass(frozen=True)
class Installation:
    """The app in its workspace. An empty `app_id` means that Slack would not say, and then it is not checked."""

    team_id: str
    enterprise_id: str
    bot_user_id: str
    bot_id: str
    app_id: str
    token: str

    @property
    def home(self) -> frozenset[str]:
        """Ids of our workspace and our organisation."""
        return frozenset(one for one in (self.team_id, self.enterprise_id) if one)

    @property
    def authorization(self) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=self.enterprise_id or None,
            team_id=self.team_id,
            bot_user_id=self.bot_user_id,
            bot_id=self.bot_id,
            bot_token=self.token,
        )

    def is_ours(self, body: Mapping[str, Any]) -> bool:
        """Whether a payload was meant for this app. Workspace ids may differ within an organisation; app ids not."""
        sent_to = body.get("api_app_id")
        return not (self.app_id and sent_to) or sent_to == self.app_id


async def introduce(slack: SlackClient, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> Installation:
    """Ask Slack who we are, again while it cannot be reached. Raises `StartError` for a token that cannot work."""
    attempt = 0
    while True:
        try:
            who = await slack.auth_test()
            break
        except SlackApiError as error:
            if not slack_errors.transient(error):
                raise StartError(_wrong_token(slack_errors.code(error))) from error
            problem = slack_errors.code(error)
        except slack_errors.UNREACHABLE as error:
            problem = str(error) or type(error).__name__
        pause = _PAUSES[min(attempt, len(_PAUSES) - 1)]
        attempt += 1
        log.warning("slack cannot be reached, trying again", url=slack.base_url, problem=problem, seconds=pause)
        await sleep(pause)
    return Installation(
        team_id=who.get("team_id") or "",
        enterprise_id=who.get("enterprise_id") or "",
        bot_user_id=who.get("user_id") or "",
        bot_id=who.get("bot_id") or "",
        app_id=await _app_id(slack, who.get("bot_id") or ""),
        token=slack.token or "",
    )


async def tell_of_token(slack: SlackClient, seconds: float = 3.0) -> None:
    """Ask Slack once whether it takes our token, and say on one line in the log what to do if not.

    For whoever has other things to do: leases end, and mail goes out, whatever Slack says.
    """
    try:
        async with asyncio.timeout(seconds):
            await slack.auth_test()
    except SlackApiError as error:
        word = slack_errors.code(error)
        if word in slack_errors.TOKEN_PROBLEMS:
            log.error("nobody is told anything in Slack", problem=_wrong_token(word))
        else:
            _unasked(slack, word)
    except slack_errors.UNREACHABLE as error:
        _unasked(slack, str(error) or type(error).__name__)


def _unasked(slack: SlackClient, problem: str) -> None:
    log.warning("slack cannot be reached, starting without it", url=slack.base_url, problem=problem)


async def _app_id(slack: SlackClient, bot_id: str) -> str:
    try:
        found = await slack.bots_info(bot=bot_id)
    except (SlackApiError, *slack_errors.UNREACHABLE) as error:
        log.warning("the app's own id is unknown, so payloads are not checked for it", problem=str(error))
        return ""
    return str(found["bot"].get("app_id") or "")


def _wrong_token(word: str) -> str:
    return (
        f"Slack refuses SLACK_BOT_TOKEN ({word}): copy the Bot User OAuth Token (xoxb-...) of the installed app "
        "from api.slack.com/apps, OAuth & Permissions"
    )
