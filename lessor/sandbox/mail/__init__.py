"""A mail server and a receiver of events on one machine, with a page that shows what arrived. Nothing leaves it."""

from lessor.sandbox.mail.postbox import Postbox, Received
from lessor.sandbox.mail.smtp import MailServer

__all__ = ["MailServer", "Postbox", "Received"]
