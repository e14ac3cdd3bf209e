"""Ways to tell people besides Slack: mail to those whom Slack does not reach, events to an organisation's programs."""

from lessor.notify.failures import PostponedError, UndeliverableError
from lessor.notify.letters import Letter, LetterWriter, Reader
from lessor.notify.mailer import Mailer
from lessor.notify.occasions import occasion
from lessor.notify.servers import Hook, MailServer
from lessor.notify.smtp import SmtpSender
from lessor.notify.webhook import Webhook

__all__ = [
    "Hook",
    "Letter",
    "LetterWriter",
    "MailServer",
    "Mailer",
    "PostponedError",
    "Reader",
    "SmtpSender",
    "UndeliverableError",
    "Webhook",
    "occasion",
]
