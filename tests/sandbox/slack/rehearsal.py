"""A small Bolt app that uses everything the sandbox offers, connected as the real bot connects."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import RunningSandbox

Json = dict[str, Any]


def bolt_app(slack: RunningSandbox) -> AsyncApp:
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    return AsyncApp(client=client, signing_secret=slack.signing_secret)


@contextlib.asynccontextmanager
async def connected(slack: RunningSandbox, app: AsyncApp, count: int = 1) -> AsyncIterator[None]:
    """The app with `count` Socket Mode connections for as long as the block runs."""
    already = slack.core.sockets.count
    handlers = [AsyncSocketModeHandler(app, slack.app_token) for _ in range(count)]
    for handler in handlers:
        handler.client.web_client = AsyncWebClient(token=slack.app_token, base_url=slack.api_url)
        await handler.connect_async()
    await slack.wait_for_connections(already + count)
    try:
        yield
    finally:
        for handler in handlers:
            await handler.close_async()
        await asyncio.sleep(0)


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def section(text: str, **more: Any) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}, **more}


def button(action_id: str, text: str, **more: Any) -> Json:
    return {"type": "button", "action_id": action_id, "text": plain(text), **more}


def options(*names: str) -> list[Json]:
    return [{"text": plain(name), "value": name.lower()} for name in names]


def card(decided: str = "") -> list[Json]:
    """A request card as an approver sees it, with buttons until `decided`."""
    confirm = {"title": plain("Deny it?"), "text": plain("The requester is told."), "confirm": plain("Deny")}
    end = "<!date^1780318800^{date_short_pretty} at {time}|2026-06-01 13:00 UTC>"
    blocks: list[Json] = [
        {"type": "header", "text": plain("Request gpu-7k3qxa2m")},
        section("<@U0REQUESTER> asks for *2 x A100 80 GB* for _fine-tuning_ :rocket:\n&gt; train &lt;b&gt; &amp; co"),
        {
            "type": "section",
            "fields": [
                {"type": "mrkdwn", "text": "*Ends*\n" + end},
                {"type": "mrkdwn", "text": "*Price*\n`USD 8.20` an hour"},
            ],
        },
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "Rule `big-requests`: one manager decides"}]},
    ]
    if decided:
        return [*blocks, section(f":white_check_mark: {decided}")]
    deny = button("deny", "Deny", style="danger", confirm=confirm)
    overflow = {"type": "overflow", "action_id": "more", "options": options("Ask a question", "Show policy")}
    return [*blocks, {"type": "actions", "elements": [button("approve", "Approve", style="primary"), deny, overflow]}]


def field(block_id: str, label: str, element: Json, **more: Any) -> Json:
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, **more}


def request_view(quote: str = "Choose a GPU") -> Json:
    """A modal with a field of every kind."""
    gpus = {"type": "static_select", "action_id": "gpu_choice", "options": options("A100", "H100")}
    count = {"type": "number_input", "action_id": "count_typed", "is_decimal_allowed": False}
    purpose = {"type": "plain_text_input", "action_id": "purpose_typed", "multiline": True, "max_length": 300}
    ends = {"type": "datetimepicker", "action_id": "ends_picked", "initial_date_time": 1780318800}
    markets = {"type": "radio_buttons", "action_id": "market_picked", "options": options("On-demand", "Spot")}
    teams = {"type": "external_select", "action_id": "team_typed", "min_query_length": 1}
    watchers = {"type": "multi_users_select", "action_id": "watchers_picked"}
    return {
        "type": "modal",
        "callback_id": "request",
        "title": plain("Request GPUs"),
        "submit": plain("Ask"),
        "close": plain("Cancel"),
        "notify_on_close": True,
        "blocks": [
            field("gpu", "GPU", gpus, dispatch_action=True),
            field("count", "How many", {**count, "min_value": "1", "max_value": "16"}),
            section(f"*Quote:* {quote}", block_id="quote"),
            field("purpose", "Purpose", purpose, hint=plain("Approvers read this.")),
            field("ends", "Until", ends),
            field("market", "Market", markets, optional=True),
            field("team", "Team", teams, optional=True),
            field("watchers", "Tell these people too", watchers, optional=True),
        ],
    }


def rehearsal(slack: RunningSandbox, heard: list[Json]) -> AsyncApp:
    """Commands, a modal with a live quote, a card with a decision, suggestions and App Home; notes in `heard`."""
    app = bolt_app(slack)
    _asks(app, heard)
    _decides(app, heard)
    _talks(app, heard)
    return app


def _asks(app: AsyncApp, heard: list[Json]) -> None:
    @app.command("/gpu")
    async def gpu(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        loading = {"type": "modal", "title": plain("Request GPUs"), "blocks": [section(":hourglass: One moment…")]}
        opened = await client.views_open(trigger_id=body["trigger_id"], view=loading)
        view = opened["view"]
        await client.views_update(view_id=view["id"], hash=view["hash"], view=request_view())

    @app.action("gpu_choice")
    async def quote(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        chosen = body["actions"][0]["selected_option"]["value"]
        view = body["view"]
        await client.views_update(view_id=view["id"], hash=view["hash"], view=request_view(f"USD 4.10/h per {chosen}"))

    @app.options("team_typed")
    async def teams(ack: Any, body: Json) -> None:
        await ack(options=[one for one in options("Research", "Robotics") if one["value"].startswith(body["value"])])

    @app.view("request")
    async def submitted(ack: Any, body: Json, view: Json, client: AsyncWebClient) -> None:
        values = view["state"]["values"]
        if values["count"]["count_typed"]["value"] == "13":
            await ack(response_action="errors", errors={"count": "13 is more than your team may have."})
            return
        await ack()
        heard.append(values)
        await client.chat_postMessage(channel="C0GPUAPPROVALS", text="Request gpu-7k3qxa2m", blocks=card())


def _decides(app: AsyncApp, heard: list[Json]) -> None:
    @app.action("approve")
    async def approve(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        heard.append(body)
        where = {"channel": body["channel"]["id"], "ts": body["message"]["ts"]}
        await client.chat_update(**where, text="Approved", blocks=card(f"Approved by <@{body['user']['id']}>"))
        await client.chat_postMessage(channel="U0REQUESTER", text="*Approved.* Your machine is on its way :tada:")

    @app.action("deny")
    @app.action("more")
    async def noted(ack: Any, body: Json) -> None:
        await ack()
        heard.append(body)


def _talks(app: AsyncApp, heard: list[Json]) -> None:
    @app.event("app_home_opened")
    async def home(event: Json, client: AsyncWebClient) -> None:
        view = {"type": "home", "blocks": [{"type": "header", "text": plain("Your leases")}, section("None yet.")]}
        await client.views_publish(user_id=event["user"], view=view)

    @app.event("message")
    async def said(event: Json, say: Any) -> None:
        heard.append(event)
        await say(text=f"You said: {event['text']}", thread_ts=event["ts"])
