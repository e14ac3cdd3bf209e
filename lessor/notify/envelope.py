"""A letter as a mail: headers that no text can break out of, one id per occasion, all mail of a lease in one thread."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr

from lessor.domain.people import Person
from lessor.notify.failures import UndeliverableError
from lessor.notify.letters import Written, seen

_ADDRESS = re.compile(r"[^@\s<>\"(),:;\\\[\]\x00-\x1f\x7f]+@[^@\s<>\"(),:;\\\x00-\x1f\x7f]+")
"""No quoted names and no literals of networks: what stands in a configuration by mistake more often than on purpose."""


def addressed(written: Written, sender: str, person: Person, key: str, topic: str, now: datetime) -> EmailMessage:
    """The mail to `person`. Its Message-ID follows from `key` alone, so that a second copy is known for one.

    All mail about `topic` names one root, by which readers thread it. Raises `UndeliverableError` for an address that
    cannot be one.
    """
    ours = _address(*parseaddr(sender))
    message = EmailMessage(policy=SMTP)
    message["From"] = ours
    message["To"] = _address(person.name, person.email)
    message["Subject"] = written.subject
    message["Date"] = format_datetime(now)
    message["Message-ID"] = f"<{hashlib.sha256(key.encode()).hexdigest()[:40]}@{ours.domain}>"
    message["References"] = f"<{hashlib.sha256(topic.encode()).hexdigest()[:40]}.thread@{ours.domain}>"
    # Nobody's absence note shall answer, and no list shall take it for a person's mail (RFC 3834).
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message.set_content(written.text, cte="quoted-printable")
    message.add_alternative(written.html, subtype="html", cte="quoted-printable")
    return message


def _address(name: str, address: str) -> Address:
    local, _, domain = address.rpartition("@")
    if not _ADDRESS.fullmatch(address):
        raise UndeliverableError(f"'{seen(address)[:80]}' is no e-mail address; correct it in lessor.yaml")
    return Address(" ".join(seen(name).split()), local, domain)
