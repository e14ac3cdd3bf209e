"""docker-compose.yml, Dockerfile and their scripts, read as text: there is no Docker engine in the tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "Dockerfile"
REFERENCE = ROOT / "docs" / "configuration.md"
EXACT = re.compile(r"[\w./-]+:\d+\.\d+(\.\d+)?[\w.-]*(@sha256:[0-9a-f]{64})?")
ONE_SHOT = {"temporal-schema", "temporal-namespace"}
SERVICES = [
    "postgres",
    "temporal-schema",
    "temporal",
    "temporal-namespace",
    "temporal-ui",
    "worker",
    "bot",
    "guard",
    "dashboard",
]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return loaded


def test_it_has_temporal_with_ui_a_database_and_all_programs(compose: dict[str, Any]) -> None:
    assert list(compose["services"]) == SERVICES


def test_every_image_is_pinned_to_an_exact_version(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert EXACT.fullmatch(service["image"]), f"{name}: {service['image']}"
    froms = re.findall(r"^FROM (\S+)", DOCKERFILE.read_text(), re.MULTILINE)
    assert len(froms) == 2
    assert len({image for image in froms if EXACT.fullmatch(image)}) == 1


def test_server_and_its_schema_tool_are_of_one_version(compose: dict[str, Any]) -> None:
    images = [service["image"] for service in compose["services"].values()]
    tags = {
        image.split(":")[1] for image in images if image.startswith(("temporalio/server", "temporalio/admin-tools"))
    }
    assert len(tags) == 1


def test_every_variable_is_explained_and_in_the_form_to_fill_in(compose: dict[str, Any]) -> None:
    used = variables(compose)
    section = REFERENCE.read_text().split("## docker-compose.yml")[1].split("\n## ")[0]
    explained = set(re.findall(r"^\| `([A-Z_]+)` \|", section, re.MULTILINE))
    form = set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert explained == used
    assert form == used


def test_the_form_holds_no_secret() -> None:
    for line in (ROOT / ".env.example").read_text().splitlines():
        if re.match(r"\w*(TOKEN|SECRET|PASSWORD|KEY)\w*=", line):
            assert line.endswith("="), line


def test_secrets_that_are_needed_have_no_default() -> None:
    text = COMPOSE.read_text()
    for name in ("SLACK_BOT_TOKEN", "POSTGRES_PASSWORD", "LESSOR_DATABASE_PASSWORD"):
        assert set(re.findall(rf"\$\{{{name}[^}}]*}}", text)) == {f"${{{name}:?set it in .env}}"}


def test_every_program_that_stays_has_a_health_check_and_comes_back(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        if name in ONE_SHOT:
            assert service["restart"].startswith("on-failure"), name
        else:
            assert service["restart"] == "unless-stopped", name
            assert service["healthcheck"]["test"], name


def test_the_order_of_starting_names_services_that_can_meet_the_condition(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[other], f"{name} -> {other}"
            else:
                assert how["condition"] == "service_completed_successfully"
                assert other in ONE_SHOT, f"{name} -> {other}"


def test_nothing_is_published_beyond_loopback_and_the_database_not_at_all(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
    assert "ports" not in compose["services"]["postgres"]
    assert compose["networks"]["database"] == {"internal": True}


def test_the_dashboard_starts_only_where_it_is_wanted_and_never_without_a_token(compose: dict[str, Any]) -> None:
    dashboard = compose["services"]["dashboard"]
    assert dashboard["profiles"] == ["dashboard"]
    assert dashboard["command"] == ["python", "-m", "lessor.web", "--host", "0.0.0.0"]
    assert dashboard["environment"]["LESSOR_WEB_TOKEN"] == "${LESSOR_WEB_TOKEN:-}"
    assert not [key for key in dashboard["environment"] if key.startswith("SLACK_")]


def test_the_guard_waits_for_nothing_and_knows_nothing_of_temporal(compose: dict[str, Any]) -> None:
    guard = compose["services"]["guard"]
    assert guard["command"] == ["python", "-m", "lessor.guard"]
    assert "depends_on" not in guard
    assert not [key for key in guard["environment"] if key.startswith("TEMPORAL_")]
    assert guard["networks"] == ["database", "outside"]


def test_lessors_own_programs_run_with_no_more_rights_than_they_need(compose: dict[str, Any]) -> None:
    for name in ("worker", "bot", "guard", "dashboard"):
        service = compose["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert re.search(r"^USER 10001:10001$", DOCKERFILE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", ["worker", "bot", "guard", "dashboard"])
def test_whoever_reads_accounts_is_told_how_and_what_lessor_yaml_names_itself(
    compose: dict[str, Any], name: str
) -> None:
    """The bot among them: it says what a request would cost before anybody decides."""
    service = compose["services"][name]
    assert [key for key in service["environment"] if key.startswith("AWS_")] == [
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        "AWS_DEFAULT_REGION",
    ]
    assert service["env_file"] == [{"path": "${LESSOR_ENV_FILE:-./lessor.env}", "required": False}]


def test_every_file_that_is_mounted_or_copied_exists(compose: dict[str, Any]) -> None:
    mounted = [v for s in compose["services"].values() for v in s.get("volumes", ()) if isinstance(v, str)]
    sources = [v.split(":")[0] for v in mounted if v.startswith("./")]
    copied = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE.read_text(), re.MULTILINE)
    sources += [word for line in copied for word in line.split()[:-1]]
    assert len(sources) > 10
    assert [source for source in sources if not (ROOT / source).exists()] == []
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {source.split("/")[0] for line in copied for source in line.split()[:-1]} == allowed


def test_image_and_makefile_use_the_same_uv() -> None:
    pinned = re.search(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert pinned
    assert f"uv=={pinned[1]}" in DOCKERFILE.read_text()


def variables(compose: dict[str, Any]) -> set[str]:
    """Every variable that the file takes from outside: interpolated ones, and those passed on without a value."""
    used = set(re.findall(r"(?<!\$)\$\{?([A-Z_]+)", COMPOSE.read_text()))
    for service in compose["services"].values():
        used |= {key for key, value in service.get("environment", {}).items() if value is None}
    return used
