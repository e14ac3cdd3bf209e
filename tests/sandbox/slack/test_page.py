"""The page in a real browser: somebody asks, somebody decides, everybody sees what is theirs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect
from slack_sdk.web.async_client import AsyncWebClient

from lessor.sandbox.slack import RunningSandbox
from tests.browser import opened_page
from tests.sandbox.slack.rehearsal import bolt_app, button, connected, options, plain, rehearsal, section

Json = dict[str, Any]
pytestmark = pytest.mark.browser


async def send(page: Page, text: str) -> None:
    box = page.get_by_test_id("message-box")
    await box.fill(text)
    await box.press("Enter")


async def test_a_request_is_asked_for_and_decided(page: Page, slack: RunningSandbox) -> None:
    heard: list[Json] = []
    async with connected(slack, rehearsal(slack, heard)):
        await send(page, "/gpu request")
        await expect(page.get_by_test_id("modal-title")).to_have_text("Request GPUs")
        await page.get_by_test_id("purpose_typed").fill("tune <b>it</b>")
        await page.get_by_test_id("gpu_choice").select_option(label="H100")
        await expect(page.get_by_test_id("block-quote")).to_have_text("Quote: USD 4.10/h per h100")
        await expect(page.get_by_test_id("purpose_typed")).to_have_value("tune <b>it</b>")
        await page.get_by_test_id("count_typed").fill("13")
        await page.get_by_test_id("modal-submit").click()
        await expect(page.get_by_test_id("error-count")).to_have_text("13 is more than your team may have.")
        await page.get_by_test_id("purpose_typed").focus()
        requester = slack.person("requester")
        await requester.select(await requester.wait_for_view(), "Spot", "market_picked")
        await expect(page.get_by_test_id("market_picked-spot")).to_be_checked()
        await expect(page.get_by_test_id("purpose_typed")).to_be_focused()
        await page.get_by_test_id("count_typed").fill("2")
        await page.get_by_test_id("watchers_picked").select_option(label="Finance")
        await page.get_by_test_id("team_typed").fill("ro")
        await page.get_by_role("option", name="Robotics").click()
        await expect(page.get_by_test_id("team_typed")).to_have_value("Robotics")
        await page.get_by_test_id("modal-submit").click()
        await expect(page.get_by_test_id("modal")).to_be_hidden()

        await page.get_by_test_id("be-manager").click()
        await page.get_by_test_id("channel-gpu-approvals").click()
        await page.get_by_test_id("approve").click()
        await expect(page.get_by_text("Approved by @Manager")).to_be_visible()
        await expect(page.get_by_test_id("approve")).to_have_count(0)

        await page.get_by_test_id("be-requester").click()
        await page.get_by_test_id("app").click()
        await expect(page.get_by_text("Your machine is on its way")).to_be_visible()
        values = heard[0]
        assert values["purpose"]["purpose_typed"]["value"] == "tune <b>it</b>"
        assert values["team"]["team_typed"]["selected_option"]["value"] == "robotics"
        assert values["watchers"]["watchers_picked"]["selected_users"] == ["U0FINANCE"]
        assert values["market"]["market_picked"]["selected_option"]["value"] == "spot"


async def test_what_happens_while_a_button_is_held_down_does_not_take_the_click(
    page: Page, slack: RunningSandbox
) -> None:
    button = page.get_by_test_id("be-manager")
    await button.hover()
    await page.mouse.down()
    async with page.expect_response("**/people/*/state*"):
        await slack.person("finance").say("look here", channel="gpu-requests")
    await page.evaluate("new Promise((done) => setTimeout(done))")
    await page.mouse.up()
    await expect(button).to_have_attribute("aria-checked", "true")
    await page.get_by_test_id("channel-gpu-requests").click()
    await expect(page.get_by_text("look here")).to_be_visible()


async def test_times_are_shown_and_picked_in_the_persons_zone(page: Page, slack: RunningSandbox) -> None:
    heard: list[Json] = []
    async with connected(slack, rehearsal(slack, heard)):
        await send(page, "/gpu")
        ends = page.get_by_test_id("ends_picked")
        await expect(ends).to_have_value("2026-06-01T15:00")
        await ends.fill("2026-06-02T09:30")
        await page.get_by_test_id("gpu_choice").select_option(label="A100")
        await page.get_by_test_id("count_typed").fill("1")
        await page.get_by_test_id("purpose_typed").fill("x")
        await page.get_by_test_id("modal-submit").click()
        await expect(page.get_by_test_id("modal")).to_be_hidden()
        assert heard[0]["ends"]["ends_picked"]["selected_date_time"] == 1780385400
        await page.get_by_test_id("be-manager-2").click()
        await page.get_by_test_id("channel-gpu-approvals").click()
        await expect(page.get_by_text("at 10:00 PM")).to_be_visible()


async def test_a_confirmation_is_asked_for_and_can_be_declined(page: Page, slack: RunningSandbox) -> None:
    heard: list[Json] = []
    app = bolt_app(slack)

    @app.action("deny")
    async def denied(ack: Any, body: Json) -> None:
        await ack()
        heard.append(body)

    confirm = {"title": plain("Deny it?"), "text": plain("The requester is told."), "confirm": plain("Deny")}
    blocks = [{"type": "actions", "elements": [button("deny", "Deny", value="gpu-1", confirm=confirm)]}]
    api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    await api.chat_postMessage(channel="C0GPUREQUESTS", text="card", blocks=blocks)
    async with connected(slack, app):
        await page.get_by_test_id("deny").click()
        await expect(page.get_by_test_id("confirm")).to_contain_text("The requester is told.")
        await page.get_by_test_id("confirm-deny").click()
        await expect(page.get_by_test_id("confirm")).to_be_hidden()
        await page.get_by_test_id("deny").click()
        await page.get_by_test_id("confirm-yes").click()
        await slack.wait_until(lambda: delivered(slack))
    assert [body["actions"][0]["value"] for body in heard] == ["gpu-1"]


async def delivered(slack: RunningSandbox) -> bool:
    return len(await slack.deliveries("interactive")) == 1


async def test_what_people_and_apps_write_is_shown_as_slack_shows_it(page: Page, slack: RunningSandbox) -> None:
    api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    text = (
        "*bold* _it_ ~no~ `code <b>` <@U0REQUESTER> <#C0GPUFLEET|gpu-fleet> <!channel> <https://example.com|site> "
        ":tada: &lt;!channel&gt; &amp;amp; 2*3*4 snake_case_name <script>alert(1)</script> <javascript:alert(1)|bad>"
    )
    await api.chat_postMessage(channel="C0GPUREQUESTS", text="x", blocks=[section(text, block_id="words")])
    words = page.get_by_test_id("block-words")
    await expect(words).to_have_text(
        "bold it no code <b> @Requester #gpu-fleet @channel site 🎉 <!channel> &amp; 2*3*4 snake_case_name "
        "<script>alert(1)</script> <javascript:alert(1)|bad>"
    )
    await expect(words.locator("strong")).to_have_text(["bold"])
    await expect(words.locator("em")).to_have_text(["it"])
    await expect(words.locator("a")).to_have_attribute("href", "https://example.com")
    await expect(words.locator("script")).to_have_count(0)
    await send(page, "I say *yes* & <no> to @manager")
    mine = page.get_by_test_id("message").last
    await expect(mine).to_contain_text("I say yes & <no> to @Manager")


async def test_private_messages_stay_private_and_unread_ones_are_counted(page: Page, slack: RunningSandbox) -> None:
    api = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    await api.chat_postEphemeral(channel="C0GPUREQUESTS", user="U0REQUESTER", text="a secret")
    await api.chat_postMessage(channel="U0MANAGER", text="for the manager")
    await expect(page.get_by_text("Only visible to you")).to_be_visible()
    await expect(page.get_by_test_id("be-manager").get_by_label("1 unread")).to_be_visible()
    await page.get_by_test_id("be-manager").click()
    await expect(page.get_by_text("a secret")).to_have_count(0)
    await page.get_by_test_id("app").click()
    await expect(page.get_by_text("for the manager")).to_be_visible()
    await page.get_by_test_id("be-requester").click()
    await expect(page.get_by_test_id("be-manager").locator(".badge")).to_have_count(0)
    await page.get_by_test_id("channel-gpu-requests").click()
    await page.get_by_role("button", name="Dismiss").click()
    await expect(page.get_by_text("a secret")).to_have_count(0)


async def test_commands_are_offered_and_taken_by_keyboard(page: Page, slack: RunningSandbox) -> None:
    box = page.get_by_test_id("message-box")
    await box.press_sequentially("/gp")
    (command,) = slack.core.workspace.app.commands
    everything = len(command.suggestions) + 1
    await expect(page.get_by_test_id("command-hints").get_by_role("option")).to_have_count(everything)
    for _ in range(2):
        await box.press("ArrowDown")
    await box.press("Tab")
    await expect(box).to_have_value("/gpu list")
    await box.press("Enter")
    await expect(page.get_by_text('/gpu failed with the error "dispatch_failed"')).to_be_visible()


async def test_people_are_offered_behind_an_at_sign(page: Page, slack: RunningSandbox) -> None:
    box = page.get_by_test_id("message-box")
    await box.press_sequentially("ask @man")
    offered = page.get_by_test_id("command-hints").get_by_role("option")
    await expect(offered).to_have_text(["@managerManager", "@manager-2Second manager"])
    await box.press("ArrowDown")
    await box.press("Tab")
    await expect(box).to_have_value("ask @manager-2 ")
    await box.press("Enter")
    await expect(page.get_by_test_id("message").last).to_contain_text("ask @Second manager")
    (said,) = await slack.person("manager").messages("gpu-requests")
    assert said["text"].strip() == "ask <@U0MANAGER2>"


async def test_threads_home_and_the_fault_panel(page: Page, slack: RunningSandbox) -> None:
    heard: list[Json] = []
    async with connected(slack, rehearsal(slack, heard)):
        await page.get_by_test_id("app").click()
        await send(page, "hello")
        await page.get_by_test_id("replies").click()
        await expect(page.get_by_test_id("thread-messages")).to_contain_text("You said: hello")
        reply = page.get_by_test_id("reply-box")
        await reply.fill("more")
        await reply.press("Enter")
        await expect(page.get_by_test_id("thread-messages")).to_contain_text("more")
        await page.get_by_test_id("thread-close").click()
        await page.get_by_test_id("tab-home").click()
        await expect(page.get_by_test_id("home")).to_contain_text("Your leases")
        await page.get_by_test_id("faults-open").click()
        await page.get_by_role("button", name="Expire the next trigger id").click()
        await expect(page.get_by_test_id("faults")).to_contain_text("expire_trigger on *, 1 left")
        await page.keyboard.press("Escape")
        await page.get_by_test_id("channel-gpu-requests").click()
        await send(page, "/gpu")
        await slack.wait_until(lambda: refused(slack))
        await page.get_by_test_id("faults-open").click()
        await expect(page.get_by_test_id("faults")).to_contain_text("views.open expired_trigger_id")


async def refused(slack: RunningSandbox) -> bool:
    return [call["outcome"] for call in await slack.calls("views.open")] == ["expired_trigger_id"]


async def test_what_is_typed_before_a_conversation_has_come_is_said_there(page: Page, slack: RunningSandbox) -> None:
    on_its_way, shown = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        on_its_way.set()
        await shown.wait()
        await route.continue_()

    async with connected(slack, rehearsal(slack, [])):
        await page.route("**/state?*", late)
        await page.get_by_test_id("app").click()
        await on_its_way.wait()
        await page.get_by_test_id("message-box").fill("hello")
        shown.set()
        await expect(page.get_by_test_id("heading")).to_have_text("lessor")
        await expect(page.get_by_test_id("message-box")).to_have_value("hello")
        await page.get_by_test_id("message-box").press("Enter")
        await expect(page.get_by_test_id("replies")).to_have_text("1 reply")


async def test_a_stack_of_views_goes_back_by_escape(page: Page, slack: RunningSandbox) -> None:
    app = bolt_app(slack)

    def view(title: str) -> Json:
        more = {"type": "actions", "elements": [button("more", "More")]}
        pick = {"type": "static_select", "action_id": "pick", "options": options("A", "B")}
        field = {"type": "input", "block_id": "f", "optional": True, "label": plain("Field"), "element": pick}
        return {"type": "modal", "title": plain(title), "submit": plain("Go"), "blocks": [section(title), more, field]}

    @app.command("/gpu")
    async def gpu(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=view("First"))

    @app.action("more")
    async def more(ack: Any, body: Json, client: AsyncWebClient) -> None:
        await ack()
        await client.views_push(trigger_id=body["trigger_id"], view=view("Second"))

    async with connected(slack, app):
        await send(page, "/gpu")
        await page.get_by_test_id("pick").select_option(label="B")
        await page.get_by_test_id("more").click()
        await expect(page.get_by_test_id("modal-title")).to_have_text("Second")
        await page.keyboard.press("Escape")
        await expect(page.get_by_test_id("modal-title")).to_have_text("First")
        await expect(page.get_by_test_id("pick")).to_have_value("b")
        await page.keyboard.press("Escape")
        await expect(page.get_by_test_id("modal")).to_be_hidden()


async def test_the_page_fits_a_phone(browser: Browser, slack: RunningSandbox) -> None:
    phone = {"viewport": {"width": 360, "height": 700}}
    async with opened_page(browser, f"{slack.url}/#manager/C0GPUAPPROVALS", **phone) as page:
        await expect(page.get_by_test_id("heading")).to_have_text("# gpu-approvals")
        assert await page.evaluate("document.documentElement.scrollWidth") == 360
        await expect(page.get_by_test_id("channel-gpu-fleet")).to_be_hidden()
        await page.get_by_role("button", name="Show channels").click()
        await page.get_by_test_id("channel-gpu-fleet").click()
        await expect(page.get_by_test_id("heading")).to_have_text("# gpu-fleet")
        await expect(page.get_by_test_id("channel-gpu-fleet")).to_be_hidden()
