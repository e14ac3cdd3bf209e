"""The one module that speaks HTTP to a cluster, by the official client: limits of time, renewal, no tries unseen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from lessor.ports import ProviderError, RetryableError
from lessor.providers.kubernetes.amounts import moment
from lessor.providers.kubernetes.api import FIELD_MANAGER, NAMESPACE, ApiKind, Obj
from lessor.providers.kubernetes.errors import Answer, no_answer, not_served, refusal, spoken
from lessor.providers.kubernetes.paging import whole_list
from lessor.providers.kubernetes.place import KubernetesPlace
from lessor.providers.kubernetes.sessions import Session, Sessions

CONNECT_LIMIT = timedelta(seconds=5)
KNOWN_FOR = timedelta(minutes=5)
"""How long it is remembered which kinds a cluster has; what it lacks is asked for again after a tenth of that."""

SYSTEM = "kube-system"
"""The namespace that every cluster has and nobody can make again: its uid tells one cluster from another."""

JSON, MERGE_PATCH, APPLY = "application/json", "application/merge-patch+json", "application/apply-patch+yaml"


@dataclass(frozen=True)
class _Group:
    """The kinds of one API version, as the cluster listed them at `at`; none when it does not have the version."""

    kinds: Mapping[str, ApiKind]
    at: datetime


class Cluster:
    """Implements `Api` for one place. Calls block; it may be shared between threads."""

    def __init__(self, place: KubernetesPlace, clock: Callable[[], datetime], kubeconfig: str = "") -> None:
        self.name = place.name
        self._clock, self._limit = clock, place.timeout
        self._sessions = Sessions(place, clock, kubeconfig)
        self._groups: dict[str, _Group] = {}
        self._uid = place.uid
        self._recognised = 0

    def get(self, kind: ApiKind, name: str, namespace: str = "") -> Obj | None:
        """The object; `None` only where the server itself says that there is no such object."""
        doing = f"reading {_named(kind, name, namespace)}"
        answer = self._call("GET", _path(kind, namespace, name), doing)
        if answer.absent(name):
            return None
        found = self._body(answer, kind, doing)
        if (found.get("metadata") or {}).get("name") != name:
            raise RetryableError(f"cluster {self.name} sent something else when {doing}", "no-result")
        return found

    def list(self, kind: ApiKind, namespace: str = "", labels: str = "", fields: str = "") -> Sequence[Obj]:
        """All of them, every page, of all namespaces if none is named; begun anew when a page has expired (410)."""
        doing = f"reading {kind.plural}{f' in {namespace}' if namespace else ''}"
        chosen = {name: by for name, by in (("labelSelector", labels), ("fieldSelector", fields)) if by}

        def page(query: Mapping[str, str]) -> Answer:
            answer = self._call("GET", _path(kind, namespace), doing, query)
            if answer.status == 404:
                raise self._missing(answer, kind, doing)
            return answer

        return whole_list(page, kind, chosen, self.name, doing)

    def served(self, kind: ApiKind) -> bool:
        """Whether the cluster has this kind at all. Raises rather than guesses."""
        return kind.kind in self._group(kind.api_version)

    def apply(self, obj: Mapping[str, Any]) -> Obj:
        """Server-side apply as `FIELD_MANAGER`, taking over fields that others own; the object as it is then."""
        kind, name, namespace = self._identity(obj)
        doing = f"applying {_named(kind, name, namespace)}"
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        answer = self._call("PATCH", _path(kind, namespace, name), doing, query, obj, APPLY)
        return self._body(answer, kind, doing)

    def create(self, obj: Mapping[str, Any]) -> Obj:
        """Create as `FIELD_MANAGER`. Raises `PermanentError` ("conflict") when the name is taken."""
        kind, name, namespace = self._identity(obj)
        doing = f"creating {_named(kind, name, namespace)}"
        answer = self._call("POST", _path(kind, namespace), doing, {"fieldManager": FIELD_MANAGER}, obj)
        return self._body(answer, kind, doing)

    def patch(self, kind: ApiKind, name: str, namespace: str, change: Mapping[str, Any], uid: str = "") -> Obj | None:
        """A JSON merge patch; `None` when it is gone. With `uid` only of that very object, else "conflict"."""
        doing = f"changing {_named(kind, name, namespace)}"
        body = {**change, "metadata": {**change.get("metadata", {}), "uid": uid}} if uid else dict(change)
        query = {"fieldManager": FIELD_MANAGER}
        answer = self._call("PATCH", _path(kind, namespace, name), doing, query, body, MERGE_PATCH)
        return None if answer.absent(name) else self._body(answer, kind, doing)

    def delete(self, kind: ApiKind, name: str, namespace: str, uid: str, *, foreground: bool = False) -> bool:
        """Begin to delete that very object, with its normal grace period; false when it is gone already.

        Raises "conflict" when another has its name.
        """
        doing = f"deleting {_named(kind, name, namespace)}"
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Foreground" if foreground else "Background",
        }
        answer = self._call("DELETE", _path(kind, namespace, name), doing, body=options)
        if answer.absent(name):
            return False
        if answer.status == 409:
            # A namespace that is being deleted already says so by the same refusal as a foreign one.
            found = self.get(kind, name, namespace)
            if found is None or (found["metadata"]["uid"] == uid and found["metadata"].get("deletionTimestamp")):
                return found is not None
        self._body(answer, kind, doing)
        return True

    def token(self, namespace: str, account: str, length: timedelta) -> tuple[str, datetime]:
        """A short-lived token of a service account and when it ends. Secret: never logged, stored or put in errors."""
        doing = f"asking for access as {namespace}/{account}"
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": int(length.total_seconds())},
        }
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/serviceaccounts/{quote(account, safe='')}/token"
        status = self._fine(self._call("POST", path, doing, body=asked), doing).get("status", {})
        until = moment(status.get("expirationTimestamp"))
        if not status.get("token") or until is None:
            raise RetryableError(f"cluster {self.name} handed out no token when {doing}", "no-token")
        return str(status["token"]), until

    def may(self, verb: str, kind: ApiKind, namespace: str = "", sub: str = "", name: str = "") -> bool:
        """Whether we may, by the cluster's own word; in all namespaces and with all names if none is named."""
        doing = f"asking whether we may {verb} {kind.plural}"
        attributes = {"verb": verb, "group": kind.group, "resource": kind.plural}
        named = {"namespace": namespace, "subresource": sub, "name": name}
        attributes |= {word: value for word, value in named.items() if value}
        asked = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        status = self._fine(self._call("POST", path, doing, body=asked), doing).get("status")
        if not isinstance(status, dict) or "allowed" not in status:
            raise RetryableError(f"cluster {self.name} gave no word when {doing}", "no-result")
        return bool(status["allowed"])

    def endpoint(self) -> tuple[str, str]:
        """The server's address and its certificate authority in PEM (empty for the public ones), for a kubeconfig."""
        configuration = self._sessions.current().client.configuration
        held = configuration.ssl_ca_cert
        return str(configuration.host), Path(held).read_text() if held else ""

    def _call(
        self,
        verb: str,
        path: str,
        doing: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content: str = JSON,
    ) -> Answer:
        """One request, and a second one with new credentials where the first was refused as a stranger's."""
        address = f"{path}?{urlencode(query)}" if query else path
        session = self._sessions.current()
        self._recognise(session)
        answer = self._once(session, verb, address, doing, body, content)
        if answer.stranger:
            session = self._sessions.renewed(session)
            self._recognise(session)
            answer = self._once(session, verb, address, doing, body, content)
        return answer

    def _recognise(self, session: Session) -> None:
        """Raise where another cluster answers than the one that is meant: what it does not have is not gone."""
        if not self._uid or session.number == self._recognised:
            return
        doing = "asking which cluster it is"
        answer = self._once(session, "GET", _path(NAMESPACE, "", SYSTEM), doing, None, JSON)
        if answer.stranger:
            session = self._sessions.renewed(session)
            answer = self._once(session, "GET", _path(NAMESPACE, "", SYSTEM), doing, None, JSON)
        found = self._fine(answer, doing).get("metadata", {}).get("uid")
        if found != self._uid:
            raise RetryableError(
                f"another cluster answers in the place of {self.name}: its {SYSTEM} has the uid {found}, not that of "
                "lessor.yaml; what is there is unknown, nothing was changed. See to its context in the kubeconfig",
                "another-cluster",
            )
        self._recognised = session.number

    def _once(
        self, session: Session, verb: str, address: str, doing: str, body: Mapping[str, Any] | None, content: str
    ) -> Answer:
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        limit = self._limit.total_seconds()
        headers = {"Accept": JSON, "User-Agent": FIELD_MANAGER, **session.headers}
        headers |= {"Content-Type": content} if body is not None else {}
        try:
            response = session.client.call_api(
                verb,
                f"{session.client.configuration.host}{address}",
                headers,
                body,
                _request_timeout=(min(limit, CONNECT_LIMIT.total_seconds()), limit),
            )
            text = response.read()
        except ValueError as error:
            # Its text has the header in it that could not be sent, which is the token.
            raise no_answer(self.name, doing, spoken(error), writing=False) from None
        except (HTTPError, ApiException, OSError) as error:
            raise no_answer(self.name, doing, spoken(error), writing=verb != "GET") from error
        return Answer(response.status, _parsed(text), response.headers.get("Retry-After", ""))

    def _body(self, answer: Answer, kind: ApiKind, doing: str) -> Obj:
        if answer.status == 404:
            raise self._missing(answer, kind, doing)
        return self._fine(answer, doing)

    def _fine(self, answer: Answer, doing: str) -> Obj:
        if not answer.fine:
            raise refusal(answer, self.name, doing)
        if not answer.body:
            raise RetryableError(f"cluster {self.name} sent nothing readable when {doing}", "no-result")
        return answer.body

    def _missing(self, answer: Answer, kind: ApiKind, doing: str) -> ProviderError:
        """What a 404 means that names no object of this kind: no such kind, another object, or nothing at all."""
        if answer.details.get("name"):
            return refusal(answer, self.name, doing)
        self._groups.pop(kind.api_version, None)
        if not self.served(kind):
            return not_served(self.name, kind.kind)
        return RetryableError(f"cluster {self.name} answered 404 for a kind that it has, when {doing}", "no-result")

    def _identity(self, obj: Mapping[str, Any]) -> tuple[ApiKind, str, str]:
        kind = self._group(str(obj["apiVersion"])).get(str(obj["kind"]))
        if kind is None:
            raise not_served(self.name, str(obj["kind"]))
        metadata = obj["metadata"]
        return kind, str(metadata["name"]), str(metadata.get("namespace", "")) if kind.namespaced else ""

    def _group(self, api_version: str) -> Mapping[str, ApiKind]:
        """The kinds of an API version, by their name."""
        known, now = self._groups.get(api_version), self._clock()
        if known is None or now - known.at >= (KNOWN_FOR if known.kinds else KNOWN_FOR / 10):
            known = self._groups[api_version] = _Group(self._discovered(api_version), now)
        return known.kinds

    def _discovered(self, api_version: str) -> Mapping[str, ApiKind]:
        group, _, version = api_version.rpartition("/")
        doing = f"reading which kinds {api_version} has"
        answer = self._call("GET", f"/apis/{group}/{version}" if group else f"/api/{version}", doing)
        if answer.status == 404:
            return {}
        listed = self._fine(answer, doing).get("resources")
        if not isinstance(listed, list):
            raise RetryableError(f"cluster {self.name} sent no list when {doing}", "no-list")
        return {
            str(one["kind"]): ApiKind(str(one["kind"]), str(one["name"]), group, version, bool(one["namespaced"]))
            for one in listed
            if "/" not in str(one["name"])
        }


def _path(kind: ApiKind, namespace: str, name: str = "") -> str:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    inside = f"/namespaces/{quote(namespace, safe='')}" if kind.namespaced and namespace else ""
    return f"{root}{inside}/{kind.plural}{'/' + quote(name, safe='') if name else ''}"


def _named(kind: ApiKind, name: str, namespace: str) -> str:
    return f"{kind.kind} {f'{namespace}/' if namespace and kind.namespaced else ''}{name}"


def _parsed(text: bytes | str | None) -> Obj:
    try:
        found = json.loads(text or b"")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
