"""Signs what is posted to a webhook, by the public scheme of standardwebhooks.com, for which receivers have libraries.

`webhook-signature` is `v1,` and the base64 of HMAC-SHA256 over `ID.TIMESTAMP.BODY`. A secret that begins with `whsec_`
is base64 behind it, any other is taken as it is, in UTF-8.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta

HEADER_ID = "webhook-id"
HEADER_TIMESTAMP = "webhook-timestamp"
HEADER_SIGNATURE = "webhook-signature"
TOLERANCE = timedelta(minutes=5)
_ENCODED = "whsec_"


def signed(secret: str, event_id: str, body: bytes, now: datetime) -> dict[str, str]:
    """The headers that go with `body`. Raises `ValueError` for a secret that is no base64 behind `whsec_`."""
    at = str(int(now.timestamp()))
    return {HEADER_ID: event_id, HEADER_TIMESTAMP: at, HEADER_SIGNATURE: _signature(secret, event_id, at, body)}


def is_genuine(secret: str, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
    """Whether somebody who knows the secret sent this, not longer ago than clocks may differ."""
    event_id, at = headers.get(HEADER_ID, ""), headers.get(HEADER_TIMESTAMP, "")
    if not at.isdecimal() or abs(now.timestamp() - int(at)) > TOLERANCE.total_seconds():
        return False
    wanted = _signature(secret, event_id, at, body)
    return any(hmac.compare_digest(wanted, given) for given in headers.get(HEADER_SIGNATURE, "").split())


def _signature(secret: str, event_id: str, at: str, body: bytes) -> str:
    mac = hmac.new(_key(secret), f"{event_id}.{at}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(mac.digest()).decode()}"


def _key(secret: str) -> bytes:
    if not secret.startswith(_ENCODED):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_ENCODED), validate=True)
    except binascii.Error:
        raise ValueError(f"a secret that begins with {_ENCODED} is base64 behind it") from None
