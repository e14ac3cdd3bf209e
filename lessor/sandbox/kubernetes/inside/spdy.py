"""SPDY/3.1 as far as `kubectl port-forward` speaks it: streams with headers, data, pings.

Frames are those of the SPDY Protocol, draft 3.1. kubectl sends them through a WebSocket, in messages that need not end
where a frame ends.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_VERSION, _CONTROL = 0x8003, 0x80
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING = 1, 2, 3, 6
_FIN = 0x01
_LONGEST = 0xFFFFFF
_PLAIN = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_WORDS = [*_PLAIN.split(" "), "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin"]
_TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = b"".join(struct.pack(">I", len(word)) + word.encode() for word in _WORDS) + _TEXT.encode()
"""What headers are compressed with, as the protocol lays it down."""


@dataclass(frozen=True)
class Opened:
    """The other side has begun a stream."""

    stream: int
    headers: Mapping[str, str]
    last: bool


@dataclass(frozen=True)
class Data:
    """Bytes on a stream; after the `last` the other side sends no more."""

    stream: int
    data: bytes
    last: bool


@dataclass(frozen=True)
class Reset:
    """The other side has given a stream up."""

    stream: int


@dataclass(frozen=True)
class Ping:
    """To be sent back as it is."""

    frame: bytes


Event = Opened | Data | Reset | Ping


class Frames:
    """One connection: what comes in becomes events, what is to be sent becomes frames."""

    def __init__(self) -> None:
        self._buffer = b""
        self._read = zlib.decompressobj(zdict=DICTIONARY)
        self._write = zlib.compressobj(zdict=DICTIONARY)

    def received(self, data: bytes) -> Iterator[Event]:
        """Raises `ValueError` for what is no SPDY/3.1."""
        self._buffer += data
        while len(self._buffer) >= 8:
            length = int.from_bytes(self._buffer[5:8])
            if len(self._buffer) < 8 + length:
                return
            frame, self._buffer = self._buffer[: 8 + length], self._buffer[8 + length :]
            event = self._event(frame)
            if event is not None:
                yield event

    def accepted(self, stream: int) -> bytes:
        """That a stream may begin."""
        block = self._write.compress(struct.pack(">I", 0)) + self._write.flush(zlib.Z_SYNC_FLUSH)
        return struct.pack(">HHII", _VERSION, _SYN_REPLY, 4 + len(block), stream) + block

    def _event(self, frame: bytes) -> Event | None:
        flags, rest = frame[4], frame[8:]
        if not frame[0] & _CONTROL:
            return Data(int.from_bytes(frame[:4]), rest, bool(flags & _FIN))
        version, kind = struct.unpack_from(">HH", frame)
        if version != _VERSION:
            raise ValueError(f"this is no SPDY/3.1, but version {version & 0x7FFF}")
        if kind == _SYN_STREAM:
            return Opened(int.from_bytes(rest[:4]), self._headers(rest[10:]), bool(flags & _FIN))
        if kind == _RST_STREAM:
            return Reset(int.from_bytes(rest[:4]))
        return Ping(frame) if kind == _PING else None

    def _headers(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._read.decompress(block)
            (count,), at, parts = struct.unpack_from(">I", plain), 4, []
            for _ in range(2 * count):
                (length,) = struct.unpack_from(">I", plain, at)
                parts.append(plain[at + 4 : at + 4 + length].decode())
                at += 4 + length
        except (zlib.error, struct.error) as error:
            raise ValueError(f"headers cannot be read: {error}") from error
        return dict(zip(parts[::2], parts[1::2], strict=True))


def sent(stream: int, data: bytes = b"", *, last: bool = False) -> bytes:
    """A frame with data."""
    if len(data) > _LONGEST:
        raise ValueError(f"{len(data)} bytes do not fit into one frame")
    return struct.pack(">I", stream) + bytes([_FIN if last else 0]) + len(data).to_bytes(3) + data
