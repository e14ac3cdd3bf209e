"""Hands mail to a mail server over SMTP. What the server accepted with 250 is delivered as far as anybody can know."""

from __future__ import annotations

import asyncio
import socket
import ssl
from email.message import EmailMessage

import aiosmtplib
from aiosmtplib import SMTPResponseException

from lessor.notify.failures import PostponedError, UndeliverableError
from lessor.notify.servers import MailServer

TIMEOUT = 15.0
"""Seconds for one answer of the server; a whole mail may take three times as long."""


class SmtpSender:
    """One connection for each mail: mail is rare, and a connection that idles is one that breaks."""

    def __init__(self, server: MailServer, *, tls: ssl.SSLContext | None = None, timeout: float = TIMEOUT) -> None:
        self._server = server
        self._tls = tls
        self._timeout = timeout

    @property
    def sender(self) -> str:
        return self._server.sender

    async def send(self, message: EmailMessage) -> None:
        """Return once the server has accepted the mail. Raises `UndeliverableError` or `PostponedError`.

        After `PostponedError` the mail may have been accepted nevertheless, when the connection broke at the very end.
        """
        try:
            async with asyncio.timeout(3 * self._timeout):
                await self._hand_in(message)
        except ssl.SSLError as error:
            raise self._untrusted(error) from error
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise self._translated(error) from error

    async def _hand_in(self, message: EmailMessage) -> None:
        server = self._server
        await aiosmtplib.send(
            message,
            hostname=server.host,
            port=server.port,
            use_tls=server.tls,
            start_tls=server.starttls and not server.tls,
            tls_context=self._tls,
            # The library would ask the name service for it, and wait where there is none.
            local_hostname=socket.gethostname(),
            timeout=self._timeout,
            username=server.username or None,
            password=server.password or None,
        )

    def _translated(self, error: Exception) -> Exception:
        """Ours for the library's; the text holds what the server said, never what we said to it."""
        where = f"mail server {self._server.host}:{self._server.port}"
        if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
            error = error.recipients[0]
        if isinstance(error.__cause__, ssl.SSLError):
            return self._untrusted(error.__cause__)
        if isinstance(error, aiosmtplib.SMTPAuthenticationError) and error.code >= 500:
            return UndeliverableError(f"{where} refused the login ({error.code}); check username and its password")
        if isinstance(error, SMTPResponseException):
            said = f"{where} answered {error.code} {self._quoted(error.message)}".rstrip()
            return PostponedError(said) if error.code < 500 else UndeliverableError(said)
        if isinstance(error, (OSError, TimeoutError)):
            return PostponedError(f"{where} cannot be reached: {self._quoted(str(error)) or type(error).__name__}")
        return UndeliverableError(f"{where} cannot be used as configured: {self._quoted(str(error))}")

    def _untrusted(self, error: ssl.SSLError) -> UndeliverableError:
        where = f"mail server {self._server.host}:{self._server.port}"
        why = getattr(error, "verify_message", "") or error.reason or "the connection could not be secured"
        return UndeliverableError(f"{where} is not trusted ({why}); nothing was sent. Check host, port and certificate")

    def _quoted(self, said: str) -> str:
        """One line of the server's words. A server that repeats the password shall not bring it into our record."""
        line = " ".join(said.split())[:200]
        return line.replace(self._server.password, "(password)") if self._server.password else line
