"""`lessor request`: a typed text and options become a request, shown with its price before it is sent."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lessor.cli.output import pairs, tell
from lessor.cli.session import DONE, Session
from lessor.domain.errors import Refused
from lessor.domain.fleet_words import vacancy_words
from lessor.domain.people import Person
from lessor.domain.quote import Quote
from lessor.domain.request import LeaseKind, Request
from lessor.intake import Draft, parse_request_text
from lessor.typed import KEYED, SEPARATORS, quoted

if TYPE_CHECKING:
    from lessor.gateway import Gateway, Submitted


@dataclass(frozen=True)
class Wanted:
    """The command line as it was typed. `key` makes sending it again harmless."""

    words: tuple[str, ...]
    options: dict[str, str]
    tags: tuple[str, ...] = ()
    snapshot: bool = False
    key: str = ""
    anyway: bool = False
    yes: bool = False

    def text(self, understood: Callable[[str], bool]) -> str:
        """All of it as one text. The shell took the quotes away, so what has spaces and is not `understood` by itself
        gets them back."""
        words = [word if len(self.words) == 1 or understood(word) else _as_typed(word) for word in self.words]
        words += [f"{name}:{quoted(value)}" for name, value in self.options.items() if value.strip()]
        words += [f"tag:{quoted(tag)}" for tag in self.tags]
        return " ".join([*words, *(["snapshot:yes"] if self.snapshot else [])])


async def request_lease(session: Session, gateway: Gateway, person: Person, wanted: Wanted) -> int:
    """Read, show, confirm, send. Raises `Invalid` with one message per field."""
    choices = await gateway.choices(person.id)
    now = session.now()
    text = wanted.text(lambda word: not parse_request_text(word, person.tz, now, choices).purpose)
    draft = parse_request_text(text, person.tz, now, choices)
    request = draft.request(person.id, f"cli:{person.id}:{wanted.key or uuid.uuid4().hex}")
    await gateway.check(request)
    if not session.as_json:
        pairs(await _summary(session, gateway, draft, request))
    session.confirm("Send this request?", yes=wanted.yes, needed=False)
    submitted = await gateway.submit(request, anyway=wanted.anyway)
    if submitted.similar:
        ids = ", ".join(submitted.similar)
        raise Refused("similar", f"{ids} asks for the same already; nothing was sent, add --anyway to make another")
    tell(session.as_json, _facts(submitted), _words(submitted))
    return DONE


def _as_typed(word: str) -> str:
    """`purpose:fine-tune it` as `purpose:"fine-tune it"`."""
    if not SEPARATORS.search(word):
        return word
    key = KEYED.match(word)
    return word[: key.end()] + quoted(word[key.end() :]) if key else quoted(word)


async def _summary(session: Session, gateway: Gateway, draft: Draft, request: Request) -> list[tuple[str, str]]:
    now = session.now()
    try:
        quote = await gateway.quote(request.need, request.place, request.market)
        total = quote.total(request.length(now))
        price = f"{quote.offer.hourly} an hour, {total} in total ({quote.price_list})" if total else "unknown"
        offer = str(quote.offer)
    except Refused as refused:
        quote, price, offer = None, f"unknown: {refused}", str(request.need)
    return [
        ("GPUs", f"{offer}, {request.market.value}, {request.place}"),
        ("Kind", await _kind(gateway, request)),
        ("Free", await _free(gateway, request, quote)),
        ("Team", request.team),
        ("For", f"{request.workload.value}: {request.purpose}"),
        ("From", draft.start.confirmation() if draft.start else ""),
        ("Until", draft.end.confirmation(request.begins(now)) if draft.end else ""),
        ("Hours", request.schedule),
        ("Price", price),
        ("At most", str(request.cap) if request.cap else ""),
    ]


async def _kind(gateway: Gateway, request: Request) -> str:
    """What is leased, where the place has a choice; the first of it unless one was named."""
    places = (await gateway.choices(request.requester)).places
    offered = next((one.kinds for one in places if one.name == request.place.name), ())
    kind = request.kind or next(iter(offered), None)
    return kind.value if kind and offered != (LeaseKind.MACHINE,) else ""


async def _free(gateway: Gateway, request: Request, quote: Quote | None) -> str:
    """What is free of it now; nothing where machines are made on demand."""
    model = quote.offer.gpu_model if quote else request.need.model
    found = await gateway.fleet.vacancy(request.place, model)
    return "" if found.on_demand else vacancy_words(found, quote.offer.gpu_count if quote else request.need.count)


def _words(submitted: Submitted) -> str:
    if submitted.existing:
        return f"{submitted.lease_id} was made with this key before; nothing new was sent"
    if submitted.recorded_only:
        return f"{submitted.lease_id} is recorded; it starts by itself as soon as Temporal can be reached"
    return f"{submitted.lease_id} is on its way; follow it with: lessor show {submitted.lease_id}"


def _facts(submitted: Submitted) -> dict[str, object]:
    return {
        "ok": True,
        "lease_id": submitted.lease_id,
        "existing": submitted.existing,
        "recorded_only": submitted.recorded_only,
    }
