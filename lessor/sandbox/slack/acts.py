"""What a person does in the client, and what the client makes of the app's answer."""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack import mrkdwn, payloads
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.delivery import COMMAND, EVENT, INTERACTIVE, Ack
from lessor.sandbox.slack.elements import Found, find_element, missing, selection
from lessor.sandbox.slack.errors import PersonError, SlackError
from lessor.sandbox.slack.screens import View
from lessor.sandbox.slack.store import Direct, Post
from lessor.sandbox.slack.workspace import Channel, Person

Json = dict[str, Any]

_TROUBLE = "We had some trouble connecting. Try again?"


class Acts:
    """One method per act. Each gives a small report: `acked`, and what a person would see go wrong."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def command(self, who: str, command: str, text: str, channel: str) -> Json:
        """Type a slash command; its answer, or the client's complaint, arrives as an ephemeral message."""
        core = self._core
        person = core.person(who)
        place = core.place(person, channel)
        registered = next((one for one in core.workspace.app.commands if one.command == command), None)
        if registered is None:
            core.from_slackbot(person.id, place.id, f"`{command}` is not a valid command.")
            return {"acked": False, "error": "unknown_command"}
        sent = self._typed(text) if registered.should_escape else text
        ack = await core.deliveries.deliver(COMMAND, payloads.slash_command(core, person, place, command, sent))
        if not ack.ok:
            core.from_slackbot(person.id, place.id, f'`{command}` failed with the error "{ack.failure}"')
        elif ack.payload:
            self._tell(person, place, ack.payload)
        return _report(ack)

    async def say(self, who: str, text: str, channel: str, thread_ts: str = "") -> Json:
        """Write a message; the app hears of it in its own conversation or when it is mentioned."""
        core = self._core
        person = core.person(who)
        place = core.place(person, channel)
        if not text.strip():
            raise PersonError("nothing to send")
        if isinstance(place, Channel) and place.is_archived:
            raise PersonError(f"#{place.name} is archived", 409)
        post = core.store.add(place.id, person.id, self._typed(text), thread_ts=thread_ts)
        core.store.read[f"{person.id} {place.id}"] = post.ts
        inner = {**core.store.message(post), "channel": place.id, "event_ts": post.ts}
        bot = core.workspace.app.bot_user_id
        ack = Ack()
        if isinstance(place, Direct) and bot in place.members:
            ack = await self._event("message.im", {**inner, "type": "message", "channel_type": "im"})
        elif f"<@{bot}" in post.text and isinstance(place, Channel) and place.app_in:
            ack = await self._event("app_mention", {**inner, "type": "app_mention"})
        return {**_report(ack), "message": {**core.store.message(post), "channel": place.id}}

    async def interact(self, who: str, where: Json, value: Any = None, **named: str) -> Json:
        """Touch an element of a message (`channel` and `ts`) or of a view (`view_id`)."""
        core = self._core
        person = core.person(who)
        if where.get("view_id"):
            view = self._view(person, where["view_id"])
            for name, typed in (where.get("values") or {}).items():
                self._fill(view, name, typed)
            found = find_element(view.body["blocks"], **named)
            chosen = self._choose(found, value, view.state)
            self._remember(view.state, found, chosen)
            view.errors.pop(found.block["block_id"], None)
            core.store.touch()
            if not found.dispatches:
                return {"acked": True, "dispatched": False}
            action = self._action(found, chosen)
            ack = await core.deliveries.deliver(INTERACTIVE, payloads.action_in_view(core, person, view, action))
        else:
            place = core.place(person, where.get("channel", ""))
            post = self._post(person, place, where.get("ts", ""))
            found = find_element(post.blocks, **named)
            chosen = self._choose(found, value, post.state)
            self._remember(post.state, found, chosen)
            if not found.dispatches:
                return {"acked": True, "dispatched": False}
            payload = payloads.action_on_message(core, person, place, post, self._action(found, chosen))
            ack = await core.deliveries.deliver(INTERACTIVE, payload)
        return {**_report(ack), "dispatched": True}

    async def submit(self, who: str, view_id: str, values: Json | None = None) -> Json:
        """Press a modal's submit button; `values` (by block id or action id) are filled in first."""
        core = self._core
        person = core.person(who)
        view = self._view(person, view_id)
        for name, value in (values or {}).items():
            self._fill(view, name, value)
        view.trouble = ""
        view.errors = self._incomplete(view)
        core.store.touch()
        if view.errors:
            return {"acked": False, "response_action": "errors", "errors": dict(view.errors), "sent": False}
        ack = await core.deliveries.deliver(INTERACTIVE, payloads.view_submission(core, person, view))
        self._after_submission(view, ack)
        core.store.touch()
        return {**_report(ack), "response_action": ack.payload.get("response_action", ""), "errors": dict(view.errors)}

    async def close(self, who: str, view_id: str) -> Json:
        """Close a modal by its close button; the app hears of it when the view asked for that."""
        core = self._core
        person = core.person(who)
        view = self._view(person, view_id)
        everything = bool(view.body["clear_on_close"])
        closed = core.screens.close(view, everything=everything)
        core.store.touch()
        for one in closed:
            if one.body["notify_on_close"]:
                payload = payloads.view_closed(core, person, one, cleared=everything)
                await core.deliveries.deliver(INTERACTIVE, payload, accepts_payload=False)
        return {"acked": True, "closed": [one.id for one in closed]}

    async def delete(self, who: str, channel: str, ts: str) -> Json:
        """Delete one's own message, or as an admin anybody's; the app is not told."""
        person = self._core.person(who)
        post = self._post(person, self._core.place(person, channel), ts)
        if post.user != person.id and not person.is_admin:
            raise PersonError("only its author or an admin can delete a message", 403)
        self._core.store.remove(post)
        return {"ok": True}

    async def open_home(self, who: str) -> Json:
        """Look at the app's Home tab."""
        core = self._core
        person = core.person(who)
        direct = core.store.direct(person.id, core.workspace.app.bot_user_id)
        inner: Json = {"type": "app_home_opened", "user": person.id, "channel": direct.id, "tab": "home"}
        inner["event_ts"] = core.store.next_ts()
        home = core.screens.homes.get(person.id)
        if home is not None:
            inner["view"] = home.described()
        return _report(await self._event("app_home_opened", inner))

    async def shortcut(self, who: str, callback_id: str, channel: str = "", ts: str = "") -> Json:
        """Use a global shortcut, or with `channel` and `ts` a message shortcut."""
        core = self._core
        person = core.person(who)
        if callback_id not in [one.callback_id for one in core.workspace.app.shortcuts]:
            raise PersonError(f"the app has no shortcut `{callback_id}`", 404)
        if ts:
            place = core.place(person, channel)
            post = self._post(person, place, ts)
            payload = payloads.message_shortcut(core, person, place, post, callback_id)
        else:
            payload = payloads.shortcut(core, person, callback_id)
        return _report(await core.deliveries.deliver(INTERACTIVE, payload, accepts_payload=False))

    async def suggest(self, who: str, where: Json, typed: str, **named: str) -> Json:
        """Type into an external select; gives the options the app offers."""
        core = self._core
        person = core.person(who)
        if where.get("view_id"):
            view = self._view(person, where["view_id"])
            blocks, described = view.body["blocks"], {"view": view.described()}
            described["container"] = {"type": "view", "view_id": view.id}
        else:
            place = core.place(person, where.get("channel", ""))
            post = self._post(person, place, where.get("ts", ""))
            blocks, described = post.blocks, {"message": core.store.message(post)}
            described["container"] = {"type": "message", "message_ts": post.ts, "channel_id": post.channel}
        found = find_element(blocks, **named)
        ids = (found.block["block_id"], found.element["action_id"])
        payload = payloads.suggestion(core, person, described, *ids, typed)
        ack = await core.deliveries.deliver(INTERACTIVE, payload)
        groups = ack.payload.get("option_groups") or []
        options = [*(ack.payload.get("options") or []), *(one for group in groups for one in group["options"])]
        core.offered[found.element["action_id"]] = options
        return {**_report(ack), "options": options}

    async def _event(self, subscription: str, inner: Json) -> Ack:
        if subscription not in self._core.workspace.app.events:
            return Ack()
        return await self._core.deliveries.deliver(EVENT, payloads.event(self._core, inner), accepts_payload=False)

    def _typed(self, text: str) -> str:
        def person_id(name: str) -> str | None:
            app = self._core.workspace.app
            found = self._core.workspace.person(name)
            return app.bot_user_id if name == app.name else (found.id if found else None)

        def channel_id(name: str) -> str | None:
            found = self._core.workspace.channel(name)
            return found.id if found else None

        return mrkdwn.from_typed(text, person_id, channel_id)

    def _tell(self, person: Person, place: Channel | Direct, content: Json) -> None:
        try:
            self._core.tell(person.id, place.id, content)
        except SlackError as refused:
            self._core.from_slackbot(person.id, place.id, f"The app's answer could not be shown: `{refused.code}`")

    def _view(self, person: Person, view_id: str) -> View:
        view = self._core.screens.find(view_id)
        if view is None or view.person != person.id:
            raise PersonError(f"{person.name} has no view `{view_id}` open", 404)
        return view

    def _post(self, person: Person, place: Channel | Direct, ts: str) -> Post:
        post = self._core.store.find(place.id, ts)
        if post is None or post.visible_to not in ("", person.id):
            raise PersonError(f"{person.name} sees no message {ts} there", 404)
        return post

    def _choose(self, found: Found, value: Any, state: Json) -> Json:
        offered = self._core.offered.get(found.element.get("action_id", ""), [])
        current = state.get(found.block["block_id"], {}).get(found.element.get("action_id"), {})
        kept = [*(current.get("selected_options") or []), current.get("selected_option")]
        return selection(found.element, value, self._resolve, [*offered, *(one for one in kept if one)])

    def _resolve(self, kind: str, name: str) -> str:
        found: Person | Channel | None
        found = self._core.workspace.person(name) if kind == "user" else self._core.workspace.channel(name)
        if found is None:
            raise PersonError(f"no {kind} is called `{name}`", 404)
        return found.id

    def _remember(self, state: Json, found: Found, chosen: Json) -> None:
        if found.element["type"] not in ("button", "overflow"):
            state.setdefault(found.block["block_id"], {})[found.element["action_id"]] = chosen

    def _action(self, found: Found, chosen: Json) -> Json:
        ids = {"action_id": found.element["action_id"], "block_id": found.block["block_id"]}
        style = {"style": found.element["style"]} if "style" in found.element else {}
        return {**ids, **chosen, **style, "action_ts": self._core.store.next_ts()}

    def _fill(self, view: View, name: str, value: Any) -> None:
        by_block = any(block["block_id"] == name for block in view.body["blocks"])
        found = find_element(view.body["blocks"], **{"block_id" if by_block else "action_id": name})
        self._remember(view.state, found, self._choose(found, value, view.state))

    def _incomplete(self, view: View) -> Json:
        found: Json = {}
        for block in view.body["blocks"]:
            if block["type"] == "input":
                value = view.state.get(block["block_id"], {}).get(block["element"]["action_id"])
                complaint = missing(block, value)
                if complaint:
                    found[block["block_id"]] = complaint
        return found

    def _after_submission(self, view: View, ack: Ack) -> None:
        screens = self._core.screens
        action = ack.payload.get("response_action", "") if ack.ok else "trouble"
        try:
            if action == "":
                screens.close(view)
            elif action == "clear":
                screens.close(view, everything=True)
            elif action == "errors":
                view.errors = _field_errors(view, ack.payload.get("errors"))
            elif action in ("update", "push"):
                body: Json = ack.payload.get("view") or {}
                self._core.check_view(body, "modal")
                _ = screens.update(view, body) if action == "update" else screens.push(view.person, body)
            else:
                view.trouble = _TROUBLE
        except SlackError as refused:
            view.trouble = f"{_TROUBLE} ({refused.code}: {'; '.join(refused.messages)})"


def _field_errors(view: View, errors: Any) -> Json:
    inputs = {block["block_id"] for block in view.body["blocks"] if block["type"] == "input"}
    if not isinstance(errors, dict) or not errors or set(errors) - inputs:
        raise SlackError("invalid_errors", [f"errors are keyed by block ids of inputs: {sorted(inputs)}"])
    return dict(errors)


def _report(ack: Ack) -> Json:
    return {"acked": ack.ok, "error": ack.failure}
