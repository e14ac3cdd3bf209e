"""Clients by account, service and region: assumed roles with external id, refreshed before they run out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import boto3
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import NoCredentialsError
from botocore.session import Session as CoreSession

from lessor.ports import PermanentError
from lessor.providers.aws.place import Ec2Place

ROLE_SESSION_NAME = "lessor"
CONFIG = Config(
    connect_timeout=5,
    read_timeout=30,
    retries={"total_max_attempts": 1, "mode": "standard"},
    user_agent_extra="lessor",
    max_pool_connections=32,
)
"""One attempt only: our own sorting of errors decides what is tried again, and looks before it does."""


class Accounts:
    """Makes each client once; clients are shared between threads, as boto3 allows."""

    def __init__(self, session_factory: Callable[[], boto3.Session] = boto3.Session) -> None:
        self._session_factory = session_factory
        self._lock = threading.RLock()
        self._sessions: dict[tuple[str, str], boto3.Session] = {}
        self._clients: dict[tuple[str, str, str, str], Any] = {}

    def client(self, place: Ec2Place, service: str, region: str, config: Config = CONFIG) -> Any:
        """The client of `service` in `region` for the account of `place`. No call is made yet.

        Everybody who asks for the same one has the same `config`.
        """
        key = (place.role_arn, place.external_id, service, region)
        with self._lock:
            if key not in self._clients:
                session = self._session(place)
                self._clients[key] = session.client(service, region_name=region, config=config)  # type: ignore[call-overload]
            return self._clients[key]

    def _session(self, place: Ec2Place) -> boto3.Session:
        key = (place.role_arn, place.external_id)
        if key not in self._sessions:
            own = self._session_factory()
            self._sessions[key] = _assumed(own, place) if place.role_arn else own
        return self._sessions[key]


def _assumed(own: boto3.Session, place: Ec2Place) -> boto3.Session:
    """A session in another account. The role is assumed at the first call and again before its hour is over."""
    core: Any = own._session
    extra = {"RoleSessionName": ROLE_SESSION_NAME}
    if place.external_id:
        extra["ExternalId"] = place.external_id

    def create_client(service: str, **keywords: Any) -> Any:
        return core.create_client(service, region_name=place.regions[0], **{**keywords, "config": CONFIG})

    def fetch() -> Any:
        if place.external_id_env and not place.external_id:
            raise PermanentError(
                f"{place.external_id_env} is not set, which holds the external id of {place.name}; nothing was done, "
                "set it where this program runs",
                "unconfigured",
            )
        source = core.get_credentials()
        if source is None:
            raise NoCredentialsError()
        return AssumeRoleCredentialFetcher(create_client, source, place.role_arn, extra_args=extra).fetch_credentials()

    credentials = DeferredRefreshableCredentials(method="assume-role", refresh_using=fetch)
    other: Any = CoreSession()
    other._credentials = credentials
    return boto3.Session(botocore_session=other, region_name=place.regions[0])
