"""How the supervisor sees that a child works: it asks the child itself, through the door that others will use."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from lessor.sandbox.children import Probe, Started

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Loopback is asked directly, whatever proxy the user's shell names."""


def get_json(url: str, timeout: float = 1.0) -> Any | None:
    """The decoded answer to GET; `None` when there was none, or none that is JSON with status 200."""
    body = _get(url, timeout)
    try:
        return None if body is None else json.loads(body)
    except ValueError:
        return None


def answers(url: str) -> Probe:
    """Ready once GET gives status 200."""
    return lambda _run: _get(url, 1.0) is not None


def answers_with(url: str, accept: Callable[[Any], bool]) -> Probe:
    """Ready once GET gives JSON that `accept` finds good."""

    def probe(_run: Started) -> bool:
        body = get_json(url)
        return body is not None and accept(body)

    return probe


def polls(ui_url: str, namespace: str, queue: str) -> Probe:
    """Ready once somebody polls the task queue since this run started, as the Temporal server sees it."""
    url = f"{ui_url}/api/v1/namespaces/{namespace}/task-queues/{queue}?taskQueueType=1"

    def probe(run: Started) -> bool:
        seen = [poller.get("lastAccessTime", "") for poller in (get_json(url) or {}).get("pollers", ())]
        return any(_instant(text) >= run.at for text in seen if text)

    return probe


def looked(notebook: Path) -> Probe:
    """Ready once the guard has looked since this run started, as its notebook says."""

    def probe(run: Started) -> bool:
        try:
            at = json.loads(notebook.read_bytes())["looked_at"]
            return datetime.fromisoformat(at) >= run.at
        except (OSError, ValueError, KeyError, TypeError):
            return False

    return probe


def _get(url: str, timeout: float) -> bytes | None:
    try:
        with _DIRECT.open(url, timeout=timeout) as answer:
            return answer.read() if answer.status == 200 else None
    except (urllib.error.URLError, OSError, ValueError):
        return None


def _instant(text: str) -> datetime:
    """RFC 3339 with up to nine decimals, of which Python reads six."""
    head, _, rest = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{(rest or '0')[:6]:0<6}+00:00")
