"""moto's way from objects to XML, without asking the same question for every instance again.

For each field of each object moto works out under which names it could be found; that took most of the time of a
describe call over thousands of machines. The names depend on the class and the place in the answer only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import moto.core.responses as moto_responses
from moto.core.serialize import AttributePickerContext, XFormedAttributePicker
from moto.core.utils import get_value

_MISSING = object()
_names: dict[tuple[Any, ...], tuple[str, ...]] = {}


class RememberingPicker(XFormedAttributePicker):
    """Picks what moto's own picker picks."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._transformers: dict[str, Callable[[Any], Any] | None] = {}

    def __call__(self, context: AttributePickerContext) -> Any:
        operation = context.operation_model.name if context.operation_model else ""
        place = (type(context.obj), operation, context.key_path, context.key)
        if place not in _names:
            _names[place] = tuple(dict.fromkeys(self.get_possible_keys(context)))
        value = self._first(context.obj, _names[place])
        transformer = self._transformer(f"{context.key_path}.{context.key}")
        return transformer(value) if transformer else value

    def _first(self, obj: Any, names: tuple[str, ...]) -> Any:
        for name in names:
            value = get_value(obj, name, _MISSING)
            if value is not _MISSING:
                return value
        return None

    def _transformer(self, path: str) -> Callable[[Any], Any] | None:
        if path not in self._transformers:
            found = (t for end, t in self.response_transformers.items() if path.endswith(end))
            self._transformers[path] = next(found, None)
        return self._transformers[path]


def install() -> None:
    """Make moto's answers use it."""
    patched: Any = moto_responses
    patched.XFormedAttributePicker = RememberingPicker
