"""The environment: wrong and missing variables are told by name, and no secret ever shows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lessor.settings import SettingsError, read_settings, temporal_connect_config


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("SLACK_", "AWS_", "LESSOR_", "TEMPORAL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(tmp_path / "none.toml"))


def test_defaults() -> None:
    settings = read_settings()
    assert settings.slack_api_url == "https://slack.com/api/"
    assert settings.database_url == "sqlite:///.lessor/lessor.db"
    assert settings.lessor_config == Path("lessor.yaml")
    assert settings.slack_bot_token is None


def test_values_are_read_and_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", " xoxb-1-abc\n")
    monkeypatch.setenv("SLACK_API_URL", "http://127.0.0.1:9000/api")
    monkeypatch.setenv("LESSOR_DATABASE_URL", "postgresql://u:hidden-word@db/lessor")
    settings = read_settings()
    assert settings.slack_bot_token is not None
    assert settings.slack_bot_token.get_secret_value() == "xoxb-1-abc"
    assert settings.slack_api_url == "http://127.0.0.1:9000/api/"
    assert settings.database_url == "postgresql://u:hidden-word@db/lessor"
    assert "xoxb-1-abc" not in repr(settings)
    assert "hidden-word" not in repr(settings)


def test_secrets_may_come_from_mounted_files(tmp_path: Path) -> None:
    (tmp_path / "slack_app_token").write_text("xapp-1-abc\n")
    settings = read_settings(tmp_path)
    assert settings.slack_app_token is not None
    assert settings.slack_app_token.get_secret_value() == "xapp-1-abc"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (
            "SLACK_BOT_TOKEN",
            "xoxp-wrong-kind",
            "SLACK_BOT_TOKEN: has a form that does not fit; it starts with xoxb-; copy it from api.slack.com/apps, "
            "your app, OAuth & Permissions",
        ),
        (
            "SLACK_APP_TOKEN",
            "xoxb-wrong-one",
            "SLACK_APP_TOKEN: has a form that does not fit; it starts with xapp-; make one under api.slack.com/apps, "
            "your app, Basic Information, App-Level Tokens, with connections:write",
        ),
        (
            "SLACK_SIGNING_SECRET",
            "short",
            "SLACK_SIGNING_SECRET: has a form that does not fit; it has letters, digits and hyphens only; copy it "
            "from api.slack.com/apps, your app, Basic Information",
        ),
        (
            "SLACK_API_URL",
            "slack.example",
            "SLACK_API_URL: has a form that does not fit; it is a web address such as https://slack.com/api/; leave "
            "it out for the real Slack",
        ),
        (
            "LESSOR_DATABASE_URL",
            "mysql://u:hidden-word@db/x",
            "LESSOR_DATABASE_URL: has a form that does not fit; it is sqlite:///PATH or "
            "postgresql://USER:PASSWORD@HOST/NAME",
        ),
    ],
)
def test_a_wrong_value_gives_one_line_without_the_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        read_settings()
    assert str(caught.value) == expected
    assert caught.value.__cause__ is None
    assert value not in str(caught.value)


def test_what_is_needed_and_missing_is_told_in_full() -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings().require("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "LESSOR_CONFIG")
    assert [line.split(";")[0] for line in str(caught.value).splitlines()] == [
        "SLACK_BOT_TOKEN: is not set",
        "SLACK_APP_TOKEN: is not set",
    ]


def test_temporal_is_local_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert temporal_connect_config() == {"target_host": "localhost:7233"}
    monkeypatch.setenv("TEMPORAL_ADDRESS", "temporal.example.com:7233")
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "gpu")
    assert temporal_connect_config() == {"target_host": "temporal.example.com:7233", "namespace": "gpu"}


def test_a_wrong_temporal_address_or_profile_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", "temporal")
    with pytest.raises(SettingsError) as caught:
        temporal_connect_config()
    assert str(caught.value) == "TEMPORAL_ADDRESS: is 'temporal'; it is HOST:PORT, such as localhost:7233"
    monkeypatch.setenv("TEMPORAL_PROFILE", "nowhere")
    with pytest.raises(SettingsError, match=r"^TEMPORAL_\*: Profile 'nowhere' not found; see docs.temporal.io"):
        temporal_connect_config()
