"""How values of ours become payloads: pydantic's JSON, with one set of schemas for the whole process.

The worker makes a payload converter for each workflow that it holds, and pydantic's keeps the schemas that it built to
itself: then each workflow builds every schema anew and holds it as long as it is cached.
"""

from __future__ import annotations

from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)

_JSON = PydanticJSONPlainPayloadConverter()


class SharedPayloadConverter(CompositePayloadConverter):
    """Temporal's converters, with pydantic's for JSON, shared by all instances."""

    def __init__(self) -> None:
        usual = DefaultPayloadConverter.default_encoding_payload_converters
        super().__init__(*(_JSON if isinstance(one, JSONPlainPayloadConverter) else one for one in usual))


data_converter = DataConverter(payload_converter_class=SharedPayloadConverter)
"""For every client of ours."""
