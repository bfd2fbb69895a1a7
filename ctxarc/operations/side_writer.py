"""Writing to the auxiliary plane: one writer at a time, beside a record that is proved to stay as it is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from ctxarc.errors import ArchiveMoved, Internal, Refusal
from ctxarc.preservation.files import named_faults
from ctxarc.preservation.fingerprint import record_fingerprint
from ctxarc.preservation.lock import Lock
from ctxarc.preservation.record import Record
from ctxarc.preservation.scratch import AUXILIARY_LOCK, RECORD_LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class SideWriter:
    """The one writer of an archive's auxiliary plane; use it in a ``with`` statement.

    Args:
        archive: the archive.
        lock_wait: seconds to wait for another writer of either plane.

    Attributes:
        record: the archive's record, open for reading.
        proof: SHA-256 over the record's files before the last :meth:`writing` and behind it.

    Raises:
        ArchiveLocked, LocksUnsupported, PermissionDenied: the archive cannot be written now.
        ArchiveMoved: in place of whatever went wrong since the archive was moved or replaced meanwhile.
        Damage, NoSuchArchive, NotAnArchive: as :class:`Record` raises them, before anything is made.

    """

    def __init__(self, archive: Path, lock_wait: float) -> None:
        self.archive = archive
        self._lock_wait = lock_wait
        self.proof = "", ""
        Record(archive).close()
        with named_faults(archive):
            self._lock = Lock(archive / AUXILIARY_LOCK, lock_wait)
            try:
                self.record = Record(archive)
                self._check_place()
            except BaseException as error:
                self._leave(error)
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.record.close()
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        """Give the lock up; an error that comes of a moved archive leaves as what it is."""
        moved = not self._lock.is_current()
        self._lock.release()
        if moved and isinstance(error, (Refusal, OSError)) and not isinstance(error, ArchiveMoved):
            raise self._moved() from error
        if isinstance(error, OSError):
            with named_faults(self.archive):
                raise error

    def _check_place(self) -> None:
        if not self._lock.is_current():
            raise self._moved()

    def _moved(self) -> ArchiveMoved:
        message = f"{self.archive}: the archive was moved or replaced while side files were made for it"
        return ArchiveMoved(message, archive=str(self.archive))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write side files inside: the record is locked, so that nobody else writes, and compared before and behind."""
        with Lock(self.archive / RECORD_LOCK, self._lock_wait):
            self._check_place()
            before = record_fingerprint(self.archive)
            yield
            self.proof = before, record_fingerprint(self.archive)
        if self.proof[0] != self.proof[1]:
            message = (
                f"{self.archive}: the record's files changed while side files were written: {self.proof[0]} became "
            )
            raise Internal(message + self.proof[1])
