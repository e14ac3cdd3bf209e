"""Finds secrets in configuration text, comments included, without ever repeating them."""

from __future__ import annotations

import re
from collections.abc import Iterator

SECRETS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"\bxapp-[\w-]{4,}"), "a Slack app token", "set SLACK_APP_TOKEN in the environment"),
    (re.compile(r"\bxox[a-z](\.xox[a-z])?-[\w-]{4,}"), "a Slack token", "set SLACK_BOT_TOKEN in the environment"),
    (re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{12,}"), "an AWS access key", "use AWS_PROFILE, AWS_* variables or a role"),
    (
        re.compile(r"://[^\s/@:'\"]*:[^\s/@'\"]+@"),
        "a password in a URL",
        "move it to the environment, such as LESSOR_DATABASE_URL",
    ),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"), "a private key", "keep it in a file of its own"),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}"), "a GitHub token", "keep it in the environment"),
    (re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"), "a signed token", "keep it in the environment"),
    (
        re.compile(
            r"(?i)^\s*(-\s+)?[\"']?(\w+[_-])?(secret|password|passwd|token|api[_-]?key|access[_-]?key)[\"']?\s*:\s*[^\s#{\[&*]"
        ),
        "a key that holds a secret",
        "set it in the environment (README, 'Environment')",
    ),
)


def secret_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """`(line, what it is, what to do)` for the first secret on each line of `text`."""
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, what, remedy in SECRETS:
            if pattern.search(line):
                yield number, what, remedy
                break


def without_secrets(text: str) -> str:
    """`text` with everything that looks like a secret replaced, for messages that quote what was written."""
    for pattern, _, _ in SECRETS[:-1]:
        text = pattern.sub("(secret)", text)
    return text
