"""A Slack workspace to try lessor in: a page, the Web API, Socket Mode and signed HTTP, strict where Slack is.

Start it with `python -m lessor.sandbox.slack --port N`, or in a test with `running_slack_sandbox()`. Point
a bot at it with `SLACK_API_URL`. See `people_routes` and `fault_routes` for the JSON it answers, `faults` for
what it can get wrong, and `client` for a Python client of both.
"""

from lessor.sandbox.slack.client import SandboxClient, Somebody
from lessor.sandbox.slack.clock import ManualClock, SystemClock
from lessor.sandbox.slack.errors import PersonError
from lessor.sandbox.slack.reading import action_ids, buttons, visible_text
from lessor.sandbox.slack.server import RunningSandbox, running_slack_sandbox
from lessor.sandbox.slack.workspace import Workspace

__all__ = [
    "ManualClock",
    "PersonError",
    "RunningSandbox",
    "SandboxClient",
    "Somebody",
    "SystemClock",
    "Workspace",
    "action_ids",
    "buttons",
    "running_slack_sandbox",
    "visible_text",
]
