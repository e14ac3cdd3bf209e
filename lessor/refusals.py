"""What a place answers when it does not do what it was asked: the only errors that a provider raises."""

from __future__ import annotations


class ProviderError(Exception):
    """A place said no or nothing. `code` is the vendor's code, for the record; `str(error)` is for people."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class RetryableError(ProviderError):
    """Throttled, timed out, 5xx, clock skew: try again. Says nothing about what exists."""


class NoCapacityError(ProviderError):
    """No candidate has capacity now. `tried` are words like `p5.48xlarge in us-east-1a (spot)`."""

    def __init__(self, message: str, tried: tuple[str, ...], code: str = "") -> None:
        super().__init__(message, code)
        self.tried = tried


class PermanentError(ProviderError):
    """It can never succeed as asked (account quota, access denied, bad parameter): one attempt, told at once."""


class TelemetryError(Exception):
    """A source of telemetry gave no whole answer: whatever it would have said is unknown. The text says what to do."""
