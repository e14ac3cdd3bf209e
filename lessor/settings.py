"""The environment, read once and only in entry points. Secrets stay hidden; what is wrong is told by variable name."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

if TYPE_CHECKING:
    from temporalio.envconfig import ClientConnectConfig

SECRETS_DIR = Path("/run/secrets")
"""Where container platforms mount secrets: a file per variable, named like it in lower or upper case."""

WANTED = {
    "SLACK_BOT_TOKEN": "starts with xoxb-; copy it from api.slack.com/apps, your app, OAuth & Permissions",
    "SLACK_APP_TOKEN": "starts with xapp-; make one under api.slack.com/apps, your app, Basic Information, App-Level "
    "Tokens, with connections:write",
    "SLACK_SIGNING_SECRET": "has letters, digits and hyphens only; copy it from api.slack.com/apps, your app, Basic "
    "Information",
    "SLACK_API_URL": "is a web address such as https://slack.com/api/; leave it out for the real Slack",
    "AWS_ENDPOINT_URL": "is a web address such as http://127.0.0.1:5000; leave it out for the real AWS",
    "LESSOR_DATABASE_URL": "is sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME",
    "TEMPORAL_ADDRESS": "is HOST:PORT, such as localhost:7233",
    "LESSOR_CONFIG": "is the path of your lessor.yaml",
    "LESSOR_DATA": "is a directory that may be written to",
    "LESSOR_METRICS_PORT": "is a port number, such as 9464; leave it out for no metrics",
    "LESSOR_SMTP_URL": "is smtp://HOST:PORT, such as smtp://127.0.0.1:7414; leave it out for the server in lessor.yaml",
    "LESSOR_WEBHOOK_URL": "is a web address such as http://127.0.0.1:7415/webhook; leave it out for the one in "
    "lessor.yaml",
    "LESSOR_PROMETHEUS_URL": "is a web address such as http://127.0.0.1:7416; leave it out for those in lessor.yaml",
    "LESSOR_TEMPORAL_UI_URL": "is a web address such as http://127.0.0.1:8080; leave it out for no links to Temporal",
    "LESSOR_WEB_TOKEN": "is a secret of 20 characters or more, without blanks; make one with: openssl rand -base64 30",
    "LESSOR_TEMPLATES": "is a directory laid out like templates/, with the files that you want worded differently",
}
WEB = re.compile(r"https?://[^\s/@]+(/\S*)?")
SMTP = re.compile(r"smtp://[A-Za-z0-9.-]+:\d{1,5}")
DATABASE = re.compile(r"(sqlite:///\S.*|postgresql(\+psycopg)?://\S+)")


class SettingsError(Exception):
    """The environment does not fit; one line per variable: which, what it should look like, what to do."""


def _secret(form: str) -> Any:
    def check(value: SecretStr) -> SecretStr:
        text = value.get_secret_value().strip()
        if not re.fullmatch(form, text):
            raise ValueError
        return SecretStr(text)

    return AfterValidator(check)


def _web(value: str) -> str:
    if not WEB.fullmatch(value.strip()):
        raise ValueError
    return value.strip()


def _smtp(value: str) -> str:
    if not SMTP.fullmatch(value.strip()):
        raise ValueError
    return value.strip()


def _web_folder(value: str) -> str:
    return _web(value).rstrip("/") + "/"


def _database(value: SecretStr) -> SecretStr:
    if not DATABASE.fullmatch(value.get_secret_value().strip()):
        raise ValueError
    return SecretStr(value.get_secret_value().strip())


class Settings(BaseSettings):
    """What the environment says; read it with `read_settings`."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    slack_bot_token: Annotated[SecretStr, _secret(r"xox[be][.-][\w.-]+")] | None = None
    slack_app_token: Annotated[SecretStr, _secret(r"xapp-[\w-]+")] | None = None
    slack_signing_secret: Annotated[SecretStr, _secret(r"[\w-]{8,}")] | None = None
    slack_api_url: Annotated[str, AfterValidator(_web_folder)] = "https://slack.com/api/"
    aws_endpoint_url: Annotated[str, AfterValidator(_web)] | None = None
    lessor_config: Path = Path("lessor.yaml")
    lessor_data: Path = Path(".lessor")
    lessor_database_url: Annotated[SecretStr, AfterValidator(_database)] | None = None
    lessor_templates: Path | None = None
    """A folder of the organisation's own templates, laid out like `templates/`; they win over the shipped ones."""
    lessor_metrics_port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """Where Prometheus finds this program's figures, on the loopback address; 0 for nowhere."""
    lessor_smtp_url: Annotated[str, AfterValidator(_smtp)] | None = None
    """Another mail server than the one in `lessor.yaml`, spoken to in the clear and without a login."""
    lessor_webhook_url: Annotated[str, AfterValidator(_web)] | None = None
    """Another receiver of events than the one in `lessor.yaml`."""
    lessor_prometheus_url: Annotated[str, AfterValidator(_web)] | None = None
    """Where every Prometheus source of `lessor.yaml` is read instead."""
    lessor_temporal_ui_url: Annotated[str, AfterValidator(_web)] | None = None
    """Where the dashboard finds the Temporal UI; it links to no lease there without."""
    lessor_web_token: Annotated[SecretStr, _secret(r"[!-~]{20,}")] | None = None
    """What lets people and programs in to the dashboard; needed to serve it beyond this machine."""
    lessor_user: str = Field(default="", max_length=120)

    @property
    def database_url(self) -> str:
        """LESSOR_DATABASE_URL, or a SQLite file in the data directory."""
        if self.lessor_database_url:
            return self.lessor_database_url.get_secret_value()
        return f"sqlite:///{self.lessor_data / 'lessor.db'}"

    def require(self, *names: str) -> None:
        """Raise `SettingsError` with one line for each of these variables that is not set."""
        missing = [name for name in names if getattr(self, name.lower()) is None]
        if missing:
            raise SettingsError("\n".join(f"{name}: is not set; it {WANTED[name]}" for name in missing))


def read_settings(secrets_dir: Path = SECRETS_DIR) -> Settings:
    """The settings of this process's environment. Raises `SettingsError`; values never stand in its text."""
    folder = secrets_dir if secrets_dir.is_dir() else None
    try:
        return Settings(_secrets_dir=folder)
    except ValidationError as error:
        names = [str(found["loc"][0]).upper() for found in error.errors(include_input=False, include_url=False)]
        lines = [f"{name}: has a form that does not fit; it {WANTED.get(name, 'is too long')}" for name in names]
        raise SettingsError("\n".join(dict.fromkeys(lines))) from None


def named_secret(name: str, purpose: str, secrets_dir: Path = SECRETS_DIR) -> str:
    """The secret that `lessor.yaml` calls by the name of its variable. Raises `SettingsError` when there is none."""
    files = (secrets_dir / name, secrets_dir / name.lower())
    found = os.environ.get(name) or next((file.read_text().strip() for file in files if file.is_file()), "")
    if not found:
        raise SettingsError(f"{name}: is not set; it is {purpose}, as lessor.yaml says")
    return found


def temporal_connect_config() -> "ClientConnectConfig":
    """How to reach Temporal: TEMPORAL_* variables and profile files as Temporal itself reads them.

    `Client.connect(**config)`; the address is localhost:7233 if none is set. Raises `SettingsError`.
    """
    from temporalio.envconfig import ClientConfigProfile

    try:
        config = ClientConfigProfile.load().to_client_connect_config()
    except Exception as error:  # the bridge's own error type is not public
        raise SettingsError(f"TEMPORAL_*: {error}; see docs.temporal.io/develop/environment-configuration") from None
    address = config.setdefault("target_host", "localhost:7233")
    if not re.fullmatch(r"\S+:\d{1,5}", address):
        raise SettingsError(f"TEMPORAL_ADDRESS: is '{address[:80]}'; it {WANTED['TEMPORAL_ADDRESS']}")
    return config
