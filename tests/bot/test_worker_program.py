"""`python -m workflows` says that its Slack token cannot work, and goes on, as it does while Slack is down."""

from __future__ import annotations

import signal
from pathlib import Path

from lessor.sandbox.slack import RunningSandbox
from tests.bot.test_program import ended, environment, line, the_program
from tests.temporal import dev_server

SECRETS = {"LESSOR_WEBHOOK_SECRET": "known to those who read the events"}


async def test_a_wrong_bot_token_is_one_line_that_says_where_to_copy_it(slack: RunningSandbox, tmp_path: Path) -> None:
    """And no more than that: leases have to end all the same, and mail goes out."""
    async with dev_server() as temporal:
        address = temporal.client.service_client.config.target_host
        wrong = environment(slack, SLACK_BOT_TOKEN="xoxb-wrong", TEMPORAL_ADDRESS=address, **SECRETS)
        async with the_program("workflows", tmp_path, wrong) as process:
            await line(process, "worker-ready")
            told = await line(process, "nobody is told anything in Slack")
            assert (
                "Slack refuses SLACK_BOT_TOKEN (invalid_auth): copy the Bot User OAuth Token (xoxb-...) of the "
                "installed app from api.slack.com/apps, OAuth & Permissions"
            ) in told
            process.send_signal(signal.SIGTERM)
            assert (await ended(process))[0] == 0


async def test_a_slack_that_is_down_keeps_no_worker_from_starting(slack: RunningSandbox, tmp_path: Path) -> None:
    async with dev_server() as temporal:
        address = temporal.client.service_client.config.target_host
        down = environment(slack, SLACK_API_URL="http://127.0.0.1:1/api/", TEMPORAL_ADDRESS=address, **SECRETS)
        async with the_program("workflows", tmp_path, down) as process:
            await line(process, "worker-ready")
            assert "127.0.0.1:1" in await line(process, "slack cannot be reached, starting without it")
            process.send_signal(signal.SIGTERM)
            code, _ = await ended(process)
            assert code == 0
