"""A small, valid configuration to begin with, and a way to change one spot of it."""

from __future__ import annotations

import textwrap

from lessor.config import ConfigError, loads

VALID = textwrap.dedent(
    """\
    organisation:
      name: Example
      people:
        - {id: U0REQUESTER, name: Requester, email: Requester@Example.com, tz: Europe/Berlin}
        - {id: U0MANAGER, email: manager@example.com, aliases: [W0MANAGER, boss@example.com]}
        - {id: U0FINANCE, email: finance@example.com}
        - {id: U0ADMIN, email: admin@example.com}
      teams:
        research: {name: Research, lead: manager@example.com, members: [U0REQUESTER], cost_center: 4711}
      groups:
        finance: [U0FINANCE]
      admins: [U0ADMIN]
      quotas:
        research: {all: 16, A100-80GB: 8}
    lease:
      grace: 7d
      warnings: [2d, 2h]
    places:
      - name: research-us
        regions: [us-east-1]
        zones: [us-east-1a]
    policy:
      rules:
        - name: small
          when: quote.total <= 50
          then: approve
        - name: big
          when: quote.total > 2000
          then: {require: [lead, {name: money, approvers: ["group:finance"]}]}
    """
)


def changed(old: str, new: str) -> str:
    """VALID with `old`, which must stand in it once, replaced."""
    assert VALID.count(old) == 1, f"{old!r} stands {VALID.count(old)} times in the sample"
    return VALID.replace(old, new)


def refusal(text: str) -> list[str]:
    """The lines of the error that `text` causes."""
    try:
        loads(text)
    except ConfigError as error:
        return str(error).splitlines()
    raise AssertionError("this was accepted:\n" + text)
