"""What the Slack surface needs to know of the organisation; the entry points fill it from `lessor.yaml`."""

from __future__ import annotations

from dataclasses import dataclass

from lessor.config import Config


@dataclass(frozen=True)
class SlackSettings:
    """Channels are ids or names, with or without `#`. `admins` is the reference of the people behind it all."""

    organisation: str = ""
    approvals_channel: str = "gpu-approvals"
    requests_channel: str = "gpu-requests"
    admins_channel: str = "gpu-admins"
    admins: str = "admins"


def slack_settings(config: Config) -> SlackSettings:
    """The Slack part of the configuration."""
    slack = config.slack
    return SlackSettings(
        organisation=config.organisation.name,
        approvals_channel=slack.approvals_channel,
        requests_channel=slack.requests_channel,
        admins_channel=slack.admins_channel,
    )
