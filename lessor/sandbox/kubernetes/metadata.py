"""What names, labels and annotations may be: the server's own rules, with its own words."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from lessor.sandbox.kubernetes.errors import Cause, missing, wrong
from lessor.sandbox.kubernetes.kinds import Kind

Obj = dict[str, Any]
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(rf"^{_LABEL}$")
_SUBDOMAIN = re.compile(rf"^{_LABEL}(\.{_LABEL})*$")
_PATH_SEGMENT = re.compile(r"^(?!\.{1,2}$)[^/%]+$")
_QUALIFIED = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
_VALUE = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
_ANNOTATIONS_LIMIT = 256 * 1024
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

_DNS_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    rf"'{_LABEL}(\.{_LABEL})*')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_QUALIFIED_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def generated(prefix: str) -> str:
    """A name from `generateName`."""
    return prefix[:58] + "".join(secrets.choice(_ALPHABET) for _ in range(5))


def checked(kind: Kind, obj: Obj) -> Iterator[Cause]:
    """What is wrong with the metadata of an object."""
    metadata = obj["metadata"]
    yield from _of_name(kind, metadata.get("name", ""))
    yield from labels(metadata.get("labels"), "metadata.labels")
    yield from _of_annotations(metadata.get("annotations") or {})


def labels(given: Mapping[str, str] | None, field: str) -> Iterator[Cause]:
    """What is wrong with labels, also those of pod templates and selectors."""
    for key, value in (given or {}).items():
        yield from qualified(key, field)
        if len(value) > 63:
            yield wrong(field, value, "must be no more than 63 bytes")
        if not _VALUE.match(value):
            yield wrong(field, value, _VALUE_TEXT)


def qualified(key: str, field: str) -> Iterator[Cause]:
    """What is wrong with the key of a label, an annotation or a resource."""
    prefix, slash, name = key.rpartition("/")
    if slash and (not prefix or len(prefix) > 253 or not _SUBDOMAIN.match(prefix)):
        yield wrong(field, key, f"prefix part {_SUBDOMAIN_TEXT}")
    if not name or len(name) > 63:
        yield wrong(field, key, "name part must be no more than 63 bytes" if name else "name part must be non-empty")
    elif not _QUALIFIED.match(name):
        yield wrong(field, key, _QUALIFIED_TEXT)


def _of_name(kind: Kind, name: str) -> Iterator[Cause]:
    if not name:
        yield missing("metadata.name", "name or generateName is required")
    elif kind.group == "rbac.authorization.k8s.io":
        if not _PATH_SEGMENT.match(name):
            yield wrong("metadata.name", name, "may not contain '/' or '%'")
    elif kind.label_names or kind.kind in ("StatefulSet",):
        if len(name) > 63:
            yield wrong("metadata.name", name, "must be no more than 63 bytes")
        if not _DNS_LABEL.match(name):
            yield wrong("metadata.name", name, _DNS_LABEL_TEXT)
    else:
        if len(name) > 253:
            yield wrong("metadata.name", name, "must be no more than 253 bytes")
        if not _SUBDOMAIN.match(name):
            yield wrong("metadata.name", name, _SUBDOMAIN_TEXT)


def _of_annotations(given: Mapping[str, str]) -> Iterator[Cause]:
    for key in given:
        yield from qualified(key.lower(), "metadata.annotations")
    size = sum(len(key.encode()) + len(value.encode()) for key, value in given.items())
    if size > _ANNOTATIONS_LIMIT:
        yield {
            "reason": "FieldValueTooLong",
            "message": f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes",
            "field": "metadata.annotations",
        }
