"""A mail server that keeps all it is given (RFC 5321, STARTTLS, AUTH PLAIN and LOGIN) and delivers nothing.

Ours, since the library for this has not been released for two years and needs a thread of its own.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import ssl
from dataclasses import dataclass, field
from types import TracebackType

from lessor.sandbox.mail.postbox import Postbox

LINE_MOST = 8_192
MAIL_MOST = 10 * 1024 * 1024
IDLE_SECONDS = 60.0


class MailServer:
    """Listens while its block runs. `tls` offers STARTTLS; `users` with passwords make a login necessary."""

    def __init__(
        self,
        postbox: Postbox,
        port: int = 0,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        users: dict[str, str] | None = None,
    ) -> None:
        self.postbox = postbox
        self.host = host
        self.port = port
        self._tls = tls
        self._users = users or {}
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> MailServer:
        self._server = await asyncio.start_server(self._met, self.host, self.port, limit=LINE_MOST)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        assert self._server
        self._server.close()
        for talk in list(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)
        await self._server.wait_closed()

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._talks.add(task)
        try:
            await _Talk(reader, writer, self.postbox, self._tls, self._users).hold()
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # the other side went away or does not speak SMTP: there is nobody to tell
        finally:
            self._talks.discard(task)
            writer.close()


@dataclass
class _Talk:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    postbox: Postbox
    tls: ssl.SSLContext | None
    users: dict[str, str]
    encrypted: bool = False
    user: str = ""
    sender: str | None = None
    recipients: list[str] = field(default_factory=list)

    async def hold(self) -> None:
        faults = self.postbox.faults
        await self._say(faults.greeting or "220 sandbox.invalid ESMTP lessor")
        if faults.greeting:
            return
        while line := await self._line():
            verb, _, rest = line.partition(" ")
            verb = verb.upper()
            if verb == "QUIT":
                await self._say("221 bye")
                return
            if not await self._obey(verb, rest.strip()):
                return

    async def _obey(self, verb: str, rest: str) -> bool:
        """Do what was asked; false when the connection is over."""
        if verb in ("EHLO", "HELO"):
            await self._say(*self._abilities() if verb == "EHLO" else ("250 sandbox.invalid",))
        elif verb == "STARTTLS" and self.tls and not self.encrypted:
            await self._say("220 go ahead")
            await self.writer.start_tls(self.tls)
            self.encrypted, self.sender, self.recipients = True, None, []
        elif verb == "AUTH":
            await self._say(await self._login(rest))
        elif verb == "MAIL":
            await self._say(self._from(rest))
        elif verb == "RCPT":
            await self._say(self._to(rest))
        elif verb == "DATA":
            return await self._data()
        elif verb == "RSET":
            self.sender, self.recipients = None, []
            await self._say("250 forgotten")
        elif verb == "NOOP":
            await self._say("250 here")
        else:
            await self._say("502 not known here")
        return True

    def _abilities(self) -> tuple[str, ...]:
        offered = ["sandbox.invalid", "8BITMIME", "SMTPUTF8", f"SIZE {MAIL_MOST}"]
        offered += ["STARTTLS"] if self.tls and not self.encrypted else []
        offered += ["AUTH PLAIN LOGIN"] if self.users else []
        return (*(f"250-{one}" for one in offered[:-1]), f"250 {offered[-1]}")

    async def _login(self, rest: str) -> str:
        kind, _, initial = rest.partition(" ")
        try:
            if kind.upper() == "PLAIN":
                _, user, password = _decoded(initial or await self._asked("")).split("\0")
            elif kind.upper() == "LOGIN":
                user = _decoded(initial or await self._asked("Username:"))
                password = _decoded(await self._asked("Password:"))
            else:
                return "504 this way of logging in is not known here"
        except (binascii.Error, ValueError):
            return "501 that is no base64 of a user and a password"
        if self.postbox.faults.login:
            return self.postbox.faults.login
        if self.users.get(user) != password:
            return "535 5.7.8 wrong user or password"
        self.user = user
        return "235 2.7.0 welcome"

    async def _asked(self, what: str) -> str:
        await self._say(f"334 {base64.b64encode(what.encode()).decode()}")
        return await self._line()

    def _from(self, rest: str) -> str:
        if self.users and not self.user:
            return "530 5.7.0 log in first"
        self.sender, self.recipients = _path(rest), []
        return "250 2.1.0 noted"

    def _to(self, rest: str) -> str:
        faults = self.postbox.faults
        if self.sender is None:
            return "503 5.5.1 MAIL comes first"
        if faults.recipient and faults.whom in rest:
            return faults.recipient
        self.recipients.append(_path(rest))
        return "250 2.1.5 noted"

    async def _data(self) -> bool:
        if not self.recipients or self.sender is None:
            await self._say("503 5.5.1 RCPT comes first")
            return True
        await self._say("354 end with a dot")
        raw = await self._mail()
        faults = self.postbox.faults
        if raw is None or faults.data:
            await self._say(faults.data or "552 5.3.4 too large")
            return True
        self.postbox.take_mail(self.sender, tuple(self.recipients), raw, encrypted=self.encrypted, user=self.user)
        if faults.vanish:
            return False
        await self._say("250 2.0.0 kept")
        return True

    async def _mail(self) -> bytes | None:
        """The message without the dots that were doubled on the way; `None` when it is too large."""
        lines: list[bytes] = []
        size = 0
        while (line := await self._raw()) != b".\r\n":
            size += len(line)
            if size <= MAIL_MOST:
                lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines) if size <= MAIL_MOST else None

    async def _line(self) -> str:
        return (await self._raw()).decode(errors="replace").rstrip("\r\n")

    async def _raw(self) -> bytes:
        return await asyncio.wait_for(self.reader.readuntil(b"\r\n"), IDLE_SECONDS)

    async def _say(self, *lines: str) -> None:
        self.writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self.writer.drain()


def _decoded(text: str) -> str:
    return base64.b64decode(text, validate=True).decode()


def _path(rest: str) -> str:
    """The address in `FROM:<a@b> SIZE=1` or `TO:<a@b>`."""
    return rest.partition("<")[2].partition(">")[0]
