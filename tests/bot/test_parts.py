"""Everything that can be pressed, sent or typed is answered by somebody."""

from __future__ import annotations

from bot.blocks.buttons import Buttons
from bot.ids import Do, Form
from bot.parts import Parts
from lessor.rendering import slack_renderer
from tests.bot.world import World


async def test_every_button_and_every_form_has_a_handler(world: World) -> None:
    parts = Parts(world.desk)
    assert set(parts.buttons) == set(Do)
    assert set(parts.forms) == set(Form) - {Form.REQUEST, Form.DETAILS, Form.SHORTCUT}


async def test_help_names_every_command(world: World) -> None:
    said = "\n".join(slack_renderer().parts("help.j2", unknown="", nearest="").values())
    known = set(Parts(world.desk).commands.known)
    assert all(f"/gpu {word}" in said for word in known - {"help"})


def test_labels_of_buttons_fit() -> None:
    words = slack_renderer().parts("buttons.j2", lease_id="gpu-7k3qxa2m")
    assert all(len(text) <= 75 for name, text in words.items() if not name.endswith(("_text", "_title")))
    assert Buttons(slack_renderer()).reply("gpu-7k3qxa2m", "U0MANAGER").value == "gpu-7k3qxa2m|U0MANAGER"
