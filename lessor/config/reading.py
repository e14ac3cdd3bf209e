"""Reads YAML so that every value keeps its line and no trap of YAML changes what was written.

Dates, `yes`/`no`, `12:30` and numbers with a leading zero stay text; duplicate keys, tabs, own tags and documents that
grow through aliases are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lessor.config.problems import ConfigError, KeyPath, Problem, spell_path
from lessor.config.secrets import secret_lines

MAX_BYTES = 1_000_000
BEGIN = "set LESSOR_CONFIG to your file or copy examples/lessor.yaml to begin with"
MAX_VALUES = 100_000
INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+")
WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp"))


@dataclass
class Document:
    """Plain data with the 1-based line of every key path; `problems` are what reading alone could see."""

    file: str
    data: Any
    lines: dict[KeyPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line(self, path: KeyPath) -> int:
        """The line of `path`, or of the nearest thing around it that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def problem(self, path: KeyPath, message: str) -> Problem:
        return Problem(self.line(path), spell_path(path), message)


def read(path: Path, remedy: str = BEGIN) -> Document:
    """The document in the file at `path`. Raises `ConfigError` when it cannot be read as one YAML document.

    `remedy` is what to do where there is no such file.
    """
    return parse(decoded(_bytes(path, remedy), path.name), path.name)


def parse(text: str, file: str) -> Document:
    """The document in `text`; `file` is the name that errors show."""
    secrets = [
        Problem(line, "", f"contains {what}; secrets are never kept in this file: {remedy}")
        for line, what, remedy in secret_lines(text)
    ]
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(file, [*secrets, _syntax_problem(error)]) from None
    except RecursionError:
        raise ConfigError(
            file, [Problem(0, "", "is nested too deeply; lessor.yaml needs at most six levels")]
        ) from None
    if node is None:
        raise ConfigError(file, [Problem(0, "", "is empty; examples/lessor.yaml shows what belongs into it")])
    document = Document(file, None, problems=secrets)
    document.data = _Reader(document).value(node, ())
    return document


class _Loader(yaml.SafeLoader):
    """Composes nodes only; the reader below decides what they mean."""


def decoded(raw: bytes, file: str) -> str:
    """The text of a file. Raises `ConfigError` when it is too long or not UTF-8."""
    if len(raw) > MAX_BYTES:
        raise ConfigError(file, [Problem(0, "", f"has {len(raw):,} bytes; at most {MAX_BYTES:,} are allowed")])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(file, [Problem(line, "", "is not UTF-8 text; save the file as UTF-8")]) from None


def _bytes(path: Path, remedy: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(str(path), [Problem(0, "", f"does not exist; {remedy}")]) from None
    except IsADirectoryError:
        raise ConfigError(str(path), [Problem(0, "", "is a directory; give the path of the file in it")]) from None
    except PermissionError:
        what = "may not be read by the user that lessor runs as; let it with chmod or chown, its directories included"
        raise ConfigError(str(path), [Problem(0, "", what)]) from None
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}; check that the path leads to a file"
        raise ConfigError(str(path), [Problem(0, "", what)]) from None


def _syntax_problem(error: yaml.YAMLError) -> Problem:
    if not isinstance(error, yaml.MarkedYAMLError):
        return Problem(0, "", f"is not YAML: {error}; remove the character, or write it as an escape in double quotes")
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    what = error.problem or error.context or "cannot be read"
    if "'\\t'" in what:
        return Problem(line, "", "has a tab where YAML wants spaces; replace each tab by two spaces")
    if "another document" in what or "single document" in (error.context or ""):
        return Problem(line, "", "starts a second document; keep everything in one, remove the '---' line")
    return Problem(line, "", f"is not valid YAML: {what}; {_syntax_remedy(what)}")


def _syntax_remedy(what: str) -> str:
    if "mapping values are not allowed" in what:
        return "a value that contains ': ' needs quotes, and keys of one section need the same indentation"
    if "could not find expected ':'" in what:
        return "a key needs a colon and a space after it"
    if "found undefined alias" in what:
        return "a value that starts with * needs quotes"
    if "cannot start any token" in what:
        return "a value that starts with this character needs quotes"
    if "end of stream" in what or "end of the stream" in what:
        return "close the quote or bracket that was opened before"
    return "look at the indentation, and at quotes and brackets that are not closed"


class _Reader:
    """Turns nodes into plain data, noting lines and problems in `document`."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.open_nodes: set[int] = set()
        self.values = 0

    def value(self, node: yaml.Node, path: KeyPath) -> Any:
        self.document.lines.setdefault(path, node.start_mark.line + 1)
        self.values += 1
        if self.values > MAX_VALUES or id(node) in self.open_nodes:
            message = f"grows beyond {MAX_VALUES:,} values through its aliases; write them out"
            raise ConfigError(self.document.file, [*self.document.problems, self.document.problem(path, message)])
        self.open_nodes.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self.open_nodes.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.document.problems.append(Problem(line, spell_path(path), "has a key that is not plain text"))
                continue
            key = str(key_node.value)
            here = (*path, key)
            if key in found:
                first = self.document.line(here)
                message = f"is given twice, first on line {first}; keep one of them"
                self.document.problems.append(Problem(line, spell_path(here), message))
                continue
            self.document.lines[here] = line
            found[key] = self.value(value_node, here)
        return found

    def _scalar(self, node: yaml.Node, path: KeyPath) -> Any:
        if node.tag not in PLAIN_TAGS:
            tag = node.tag.removeprefix("tag:yaml.org,2002:")
            self.document.problems.append(self.document.problem(path, f"has the tag '{tag}'; tags are not allowed"))
            return ""
        text = str(node.value)
        if getattr(node, "style", None):
            return text
        if text.lower() in WORDS:
            return WORDS[text.lower()]
        if INT.fullmatch(text) and len(text) <= 18:
            return int(text)
        return float(text) if FLOAT.fullmatch(text) else text
