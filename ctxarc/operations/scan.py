"""``scan``: where secrets are likely to stand, as places of the record, without the secrets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from ctxarc.auxiliary.secrets.defaults import DEFAULT_RULES
from ctxarc.model import SecretCount, SecretPlace
from ctxarc.operations.detecting import TIME_LIMIT, Detector
from ctxarc.operations.view import View
from ctxarc.preservation.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ctxarc.auxiliary.secrets.rule import Rules
    from ctxarc.operations.secret_texts import Secret
    from ctxarc.preservation.record import State, Turn

_BATCH = 16 << 20
"""Bytes of turns that are looked at together."""
_FINGERPRINT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """What counts as a secret, and where it is looked for.

    Attributes:
        rules: the rules.
        names: transcripts to look in; all where there is none.
        at: the capture after which the archive is looked at.
        time_limit: seconds that an expression of a user may take on a stretch of at most 16 MiB, or one longer turn.

    """

    rules: Rules = field(default=DEFAULT_RULES)
    names: tuple[str, ...] = ()
    at: int | None = None
    time_limit: float = TIME_LIMIT


def scan(archive: Path, options: ScanOptions | None = None) -> Iterator[SecretPlace]:
    """Every place of a secret: transcripts in byte order of names, turns in order.

    Raises:
        BadPattern, BadUsage: of the rules, see :class:`Detector`.
        PatternTimeout: an expression of a user took longer than its limit.

    """
    options = options or ScanOptions()
    with Record(archive) as record, Detector(options.rules, options.time_limit) as detector:
        known = _Known(record, detector)
        for state in View(record, options.at).chosen(options.names):
            for turn, secrets in known.turns(state):
                for secret in secrets:
                    yield _place(state, turn, secret)


def scan_count(archive: Path, options: ScanOptions | None = None) -> list[SecretCount]:
    """How many places of secrets each transcript has, and by which rules."""
    options = options or ScanOptions()
    counts: Counter[tuple[str, str]] = Counter((place.transcript, place.rule) for place in scan(archive, options))
    found = []
    with Record(archive) as record:
        for state in View(record, options.at).chosen(options.names):
            name = state.name.decode()
            rules = {rule: number for (other, rule), number in sorted(counts.items()) if other == name}
            found.append(SecretCount(name, sum(rules.values()), rules, state.complete))
    return found


def _place(state: State, turn: Turn, secret: Secret) -> SecretPlace:
    digest = turn.digest.hex()
    return SecretPlace(
        transcript=state.name.decode(),
        turn=turn.number,
        start_byte=secret.start,
        end_byte=secret.end,
        turn_sha256=digest,
        digest_verified=True,
        cite=f"ctxa:{digest}:{secret.start}-{secret.end}",
        complete=state.complete,
        rule=secret.rule.id,
        description=secret.rule.description,
        bytes=secret.end - secret.start,
        fingerprint=sha256(secret.text.encode("utf-8", "replace")).hexdigest()[:_FINGERPRINT],
    )


class _Known:
    """Turns with their secrets; each object is looked at once, however many transcripts hold it."""

    def __init__(self, record: Record, detector: Detector) -> None:
        self._record, self._detector = record, detector
        self._seen = bytearray(record.head.objects)
        self._secrets: dict[int, list[Secret]] = {}

    def turns(self, state: State) -> Iterator[tuple[Turn, list[Secret]]]:
        """The turns of a transcript that have secrets."""
        for batch in self._batches(state):
            self._look(batch)
            for turn in batch:
                if turn.object in self._secrets:
                    yield turn, self._secrets[turn.object]

    def _batches(self, state: State) -> Iterator[list[Turn]]:
        batch: list[Turn] = []
        size = 0
        for turn in self._record.turns(state):
            if batch and size + turn.length > _BATCH:
                yield batch
                batch, size = [], 0
            batch.append(turn)
            size += turn.length
        if batch:
            yield batch

    def _look(self, batch: Sequence[Turn]) -> None:
        new = list({turn.object: turn for turn in batch if not self._seen[turn.object]})
        found = self._detector.secrets([bytes(self._record.turn_bytes(number)) for number in new])
        for number, secrets in zip(new, found, strict=True):
            self._seen[number] = 1
            if secrets:
                self._secrets[number] = secrets
