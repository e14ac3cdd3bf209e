"""The JSON Schema of `lessor.yaml`, for editors; `lessor config schema` prints what docs/lessor.schema.json holds."""

from __future__ import annotations

import json
from typing import Any

from lessor.config.configuration import Config


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the whole file."""
    described = Config.model_json_schema()
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "lessor.yaml"}
    return head | {key: value for key, value in described.items() if key not in head}


def schema_text() -> str:
    """The schema as it is published, with a final newline."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
