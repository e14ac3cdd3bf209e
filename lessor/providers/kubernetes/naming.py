"""Names, labels and annotations: what people are called does not fit into Kubernetes names, and must not collide there.

A label value has at most 63 letters, digits, `-`, `_` and `.`, and begins and ends with a letter or digit; the name of
an object is narrower still. What fits is kept as it is. Everything else becomes readable letters with a digest behind
them, so that two different texts never share a value (cases D09, D10); the full text is in an annotation.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata

from lessor.contracts import ANNOTATION_PREFIX, LABEL_LEASE, LABEL_MANAGED_BY, LABEL_TEAM, MANAGED_BY
from lessor.domain.provisioning import Order
from lessor.domain.request import LeaseKind
from lessor.providers.instants import instant

LONGEST = 63
LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
DIGEST = 20
DIGESTED = re.compile(rf"(?:.*-)?[0-9a-f]{{{DIGEST}}}", re.DOTALL)
"""How a value with a digest looks: a text that looks so by itself gets a digest as well, or it could be another's."""

OWNER = ANNOTATION_PREFIX + "owner"
TEAM = ANNOTATION_PREFIX + "team"
COST_CENTER = ANNOTATION_PREFIX + "cost-center"
PURPOSE = ANNOTATION_PREFIX + "purpose"
ENDS = ANNOTATION_PREFIX + "ends"
TAGS = ANNOTATION_PREFIX + "tags"
KIND = ANNOTATION_PREFIX + "kind"
MODEL = ANNOTATION_PREFIX + "model"
RESOURCE = ANNOTATION_PREFIX + "resource"
GPUS = ANNOTATION_PREFIX + "gpus"
LAUNCHED_AT = ANNOTATION_PREFIX + "launched-at"

LABELS = (LABEL_LEASE, LABEL_TEAM, LABEL_MANAGED_BY)
ANNOTATIONS = (OWNER, TEAM, COST_CENTER, PURPOSE, ENDS, TAGS)
"""What stands on everything of a lease; the others are on its namespace only."""


def label_value(text: str) -> str:
    """`text` as the value of a label: 1 to 63 characters, never the same for two texts."""
    if LABEL.fullmatch(text) and not DIGESTED.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    readable = re.sub(r"[^A-Za-z0-9]+", "-", plain)[: LONGEST - DIGEST - 1].strip("-")
    return f"{readable}-{digest}" if readable else digest


def labels(lease_id: str, team: str) -> dict[str, str]:
    """The labels of everything that a lease has in a cluster."""
    return {
        LABEL_LEASE: label_value(lease_id),
        LABEL_MANAGED_BY: MANAGED_BY,
        **({LABEL_TEAM: label_value(team)} if team else {}),
    }


def holding(owner: str, team: str, cost_center: str) -> dict[str, str]:
    """The annotations that say whose it is and who pays, in full."""
    return {OWNER: owner, TEAM: team, COST_CENTER: cost_center}


def described(order: Order) -> dict[str, str]:
    """The annotations of everything that an order makes."""
    ends = {ENDS: instant(order.ends)} if order.ends is not None else {}
    tags = {TAGS: json.dumps(order.request.tags, sort_keys=True)} if order.request.tags else {}
    return {
        **holding(order.owner, order.team, order.cost_center),
        PURPOSE: order.request.purpose,
        **ends,
        **tags,
    }


def content(kind: LeaseKind, model: str, resource: str, gpus: int) -> dict[str, str]:
    """The annotations of a namespace that say what the lease is for: a later look knows nothing of the order."""
    return {KIND: kind.value, MODEL: model, RESOURCE: resource, GPUS: str(gpus)}
