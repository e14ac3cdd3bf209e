"""Workspaces from data and files, manifests, snapshots, and text on its way through."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from lessor.sandbox.slack import Workspace
from lessor.sandbox.slack.__main__ import main
from lessor.sandbox.slack.clock import SystemClock
from lessor.sandbox.slack.default_workspace import DEFAULT
from lessor.sandbox.slack.files import Files
from lessor.sandbox.slack.mrkdwn import escape, from_typed, normalise, unescape
from lessor.sandbox.slack.persistence import Snapshot
from lessor.sandbox.slack.store import Store


def test_a_workspace_reads_back_what_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "workspace.yaml"
    path.write_text(yaml.safe_dump(DEFAULT))
    workspace = Workspace.from_file(path)
    assert workspace == Workspace.default()
    again = Workspace.from_data({**workspace.to_data()})
    assert again == workspace


def test_a_member_who_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="'stranger' is missing, or names somebody who is not in `people`"):
        Workspace.from_data({**DEFAULT, "channels": [{"id": "C1", "name": "c", "members": ["stranger"]}]})


def test_a_manifest_gives_commands_shortcuts_and_events() -> None:
    manifest = {
        "display_information": {"name": "leaser"},
        "features": {
            "slash_commands": [{"command": "/gpu", "description": "d", "usage_hint": "[x]", "should_escape": False}],
            "shortcuts": [{"name": "Claim", "type": "message", "callback_id": "claim", "description": "d"}],
        },
        "settings": {"event_subscriptions": {"bot_events": ["app_home_opened"]}},
    }
    app = Workspace.default().with_manifest(manifest).app
    assert (app.name, app.events) == ("leaser", ("app_home_opened",))
    assert [(one.command, one.usage_hint, one.should_escape) for one in app.commands] == [("/gpu", "[x]", False)]
    assert app.commands[0].suggestions[1] == "list"
    assert [(one.type, one.callback_id) for one in app.shortcuts] == [("message", "claim")]


async def test_messages_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "slack.json"
    store = Store(Workspace.default(), SystemClock())
    saved = asyncio.Event()

    class Noticed(Snapshot):
        def save(self, store: Store, files: Files) -> None:
            super().save(store, files)
            saved.set()

    keeping = asyncio.create_task(Noticed(path, quiet_seconds=0.0).keep(store, Files(SystemClock())))
    await asyncio.sleep(0)
    direct = store.direct("U0REQUESTER", "U0LESSOR")
    post = store.add(direct.id, "U0LESSOR", "kept", blocks=[{"type": "divider", "block_id": "b"}])
    await saved.wait()
    keeping.cancel()
    loaded = Store(Workspace.default(), SystemClock())
    Snapshot(path).load(loaded, Files(SystemClock()))
    assert loaded.posts == {direct.id: [post]}
    assert loaded.find_direct("U0LESSOR", "U0REQUESTER") == direct
    assert loaded.next_ts() > post.ts


def test_a_broken_state_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "slack.json"
    path.write_text("{")
    with pytest.raises(ValueError, match=r"slack\.json is no sandbox state .* move it away to start afresh"):
        Snapshot(path).load(Store(Workspace.default(), SystemClock()), Files(SystemClock()))


def test_a_wrong_workspace_file_stops_the_program_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "workspace.json"
    path.write_text(json.dumps([]))
    assert main(["--port", "0", "--workspace", str(path)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"slack sandbox: {path}: a workspace file is a mapping with `people` and `channels`"
    ]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("a & b", "a &amp; b"),
        ("a &amp; b", "a &amp; b"),
        ("1 < 2 > 0", "1 &lt; 2 &gt; 0"),
        ("<@U0MANAGER> <!channel> <https://x.org|x>", "<@U0MANAGER> <!channel> <https://x.org|x>"),
        ("<!date^1^{date}|d> <b>", "<!date^1^{date}|d> &lt;b&gt;"),
        ("> quote", "&gt; quote"),
    ],
)
def test_bare_characters_are_stored_escaped(given: str, stored: str) -> None:
    assert normalise(given) == stored
    assert normalise(stored) == stored


def test_escaping_shows_exactly_what_was_given() -> None:
    assert escape("<!channel> & co") == "&lt;!channel&gt; &amp; co"
    assert unescape(escape("<!channel> & &amp;")) == "<!channel> & &amp;"


def test_typed_mentions_become_ids_and_everything_else_is_escaped() -> None:
    people = {"manager": "U0MANAGER"}
    channels = {"gpu-fleet": "C0GPUFLEET"}
    typed = "@manager @stranger #gpu-fleet #none a@manager.org @channel <@U0ADMIN> <b>&"
    assert from_typed(typed, people.get, channels.get) == (
        "<@U0MANAGER> @stranger <#C0GPUFLEET|gpu-fleet> #none a@manager.org <!channel> <@U0ADMIN> &lt;b&gt;&amp;"
    )
