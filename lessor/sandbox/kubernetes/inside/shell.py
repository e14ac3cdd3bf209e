"""A shell that answers: lines of plain commands, at a terminal or from a pipe."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from lessor.sandbox.kubernetes.inside import commands
from lessor.sandbox.kubernetes.inside.commands import Done
from lessor.sandbox.kubernetes.inside.containers import Inside

STDOUT, STDERR = 1, 2
Written = tuple[int, bytes]
_SHELLS = ("sh", "bash", "ash", "dash")
_INTERRUPT, _END, _ERASE = 0x03, 0x04, (0x08, 0x7F)
_JOINS = (";", "&&", "||")


class Session:
    """What runs in a container for one `kubectl exec`. `ended` is its exit code once it is over."""

    def __init__(self, inside: Inside, command: Sequence[str], now: Callable[[], datetime], *, tty: bool) -> None:
        self._inside, self._command, self._now, self._tty = inside, list(command), now, tty
        self._line, self._code = bytearray(), 0
        self.ended: int | None = None

    def begin(self) -> Iterator[Written]:
        """What is written before anything is typed."""
        program, arguments = self._command[0].rpartition("/")[2], self._command[1:]
        if program not in _SHELLS:
            yield from self._said(commands.run(self._inside, self._command, self._now()))
            self.ended = self._code
        elif arguments[:1] in (["-c"], ["-lc"]):
            yield from self._ran(" ".join(arguments[1:2]))
            self.ended = self._code if self.ended is None else self.ended
        elif self._tty:
            yield self._out(
                f"{commands.about(self._inside)}Type help for what it can do, exit to leave.\n{self._prompt()}"
            )

    def typed(self, data: bytes) -> Iterator[Written]:
        """What is written for what came in."""
        for byte in data:
            if self.ended is not None:
                return
            yield from self._key(byte) if self._tty else self._byte(byte)

    def closed(self) -> Iterator[Written]:
        """Nothing more comes in."""
        if self.ended is None and self._line:
            yield from self._entered()
        if self.ended is None:
            self.ended = self._code

    def _byte(self, byte: int) -> Iterator[Written]:
        if byte == ord("\n"):
            yield from self._entered()
        else:
            self._line.append(byte)

    def _key(self, byte: int) -> Iterator[Written]:
        """A key at a terminal, which shows what is typed."""
        if byte in b"\r\n":
            yield self._out("\n")
            yield from self._entered()
            if self.ended is None:
                yield self._out(self._prompt())
        elif byte == _INTERRUPT:
            self._line.clear()
            yield self._out(f"^C\n{self._prompt()}")
        elif byte == _END and not self._line:
            self.ended = self._code
            yield self._out("exit\n")
        elif byte in _ERASE:
            if self._line:
                self._line.pop()
                yield self._out("\b \b")
        elif byte >= ord(" "):
            self._line.append(byte)
            yield STDOUT, bytes([byte])

    def _entered(self) -> Iterator[Written]:
        text = self._line.decode(errors="replace")
        self._line.clear()
        yield from self._ran(text)

    def _ran(self, script: str) -> Iterator[Written]:
        """Plain commands one after the other. Joins are seen, pipes and redirections said to be too much."""
        try:
            lexer = shlex.shlex(script.replace("\n", ";"), posix=True, punctuation_chars=";&|<>()")
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError as wrong:
            yield from self._said(Done(err=f"sh: {wrong}\n", code=2))
            return
        join, begun = ";", 0
        for at, word in enumerate([*words, ";"]):
            if word in _JOINS:
                if self._goes_on(join):
                    yield from self._one(words[begun:at])
                join, begun = word, at + 1
            if self.ended is not None:
                return

    def _goes_on(self, join: str) -> bool:
        return join == ";" or (join == "&&") is (self._code == 0)

    def _one(self, words: list[str]) -> Iterator[Written]:
        words = [word.replace("$?", str(self._code)) for word in words]
        if not words:
            return
        if words[0] == "exit":
            self.ended = int(words[1]) % 256 if words[1:] and words[1].isdigit() else self._code
        elif any(word and set(word) <= set("|<>&()") for word in words):
            yield from self._said(Done(err="sh: pipes, redirections and jobs are not simulated\n", code=2))
        else:
            yield from self._said(commands.run(self._inside, words, self._now()))

    def _said(self, done: Done) -> Iterator[Written]:
        self._code = done.code
        if done.out:
            yield self._out(done.out)
        if done.err:
            yield (STDOUT if self._tty else STDERR), self._shown(done.err)

    def _out(self, text: str) -> Written:
        return STDOUT, self._shown(text)

    def _shown(self, text: str) -> bytes:
        """At a terminal lines also begin at its left edge."""
        return (text.replace("\n", "\r\n") if self._tty else text).encode()

    def _prompt(self) -> str:
        return f"simulated@{self._inside.pod}:{self._inside.directory}$ "
