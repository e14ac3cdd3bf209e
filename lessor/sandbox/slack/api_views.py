"""views.*"""

from __future__ import annotations

from typing import Any

from lessor.sandbox.slack.api import Args, Method
from lessor.sandbox.slack.core import Core
from lessor.sandbox.slack.errors import SlackError

Json = dict[str, Any]


async def open_view(core: Core, args: Args) -> Json:
    view = args.structure("view")
    person = _exchange(core, args, "views.open")
    core.check_view(view, "modal")
    opened = core.screens.open(person, view)
    core.store.touch()
    return {"view": opened.described()}


async def push(core: Core, args: Args) -> Json:
    view = args.structure("view")
    person = _exchange(core, args, "views.push")
    core.check_view(view, "modal")
    pushed = core.screens.push(person, view)
    core.store.touch()
    return {"view": pushed.described()}


async def update(core: Core, args: Args) -> Json:
    view_id, external_id = args.text("view_id"), args.text("external_id")
    if view_id and external_id:
        raise SlackError("invalid_arguments", ["Cannot provide both `view_id` and `external_id`"])
    found = core.screens.find(view_id, external_id)
    if found is None:
        raise SlackError("not_found")
    body = args.structure("view")
    core.check_view(body, found.body["type"])
    core.screens.update(found, body, args.text("hash"))
    core.store.touch()
    return {"view": found.described()}


async def publish(core: Core, args: Args) -> Json:
    person = core.workspace.person(args.required("user_id"))
    if person is None or person.deleted:
        raise SlackError("invalid_arguments", ["invalid `user_id` [json-pointer:/user_id]"])
    body = args.structure("view")
    core.check_view(body, "home")
    published = core.screens.publish(person.id, body, args.text("hash"))
    core.store.touch()
    return {"view": published.described()}


METHODS: dict[str, Method] = {
    "views.open": open_view,
    "views.push": push,
    "views.update": update,
    "views.publish": publish,
}


def _exchange(core: Core, args: Args, method: str) -> str:
    fault = core.faults.use("expire_trigger", method)
    shape = fault.shape if fault is not None else core.switches.trigger_refusal_shape
    return core.screens.exchange(args.text("trigger_id"), shape, expired=fault is not None)
