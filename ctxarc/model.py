"""The plain data that operations return: what a command prints as JSON, field for field.

Field names are the names of the JSON contract. Every class here holds only JSON types, tuples of them, or other classes
of this module, so that :func:`as_json` can turn any of them into what ``json.dumps`` takes. They are named tuples since
commands that must start fast load them all, and a dataclass takes ten times as long to make.

Offsets and lengths are bytes; ranges are half-open; digests are SHA-256 in lower-case hex; times are ISO 8601 in UTC.
"""

from typing import Any, NamedTuple


class ByteRange(NamedTuple):
    """A half-open range of bytes of a source."""

    start_byte: int
    end_byte: int


class CaptureReport(NamedTuple):
    """What one capture of one transcript stored.

    ``not_json``, ``glued``, ``torn`` and ``blank`` count the new turns that are not one JSON value: something else,
    several values on a line, an unfinished last line, and white space alone.
    """

    transcript: str
    capture: int
    turns: int
    new_turns: int
    source_bytes: int
    source_sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]
    unchanged: bool
    not_json: int
    glued: int
    torn: int
    blank: int
    source: str


class RefusedSource(NamedTuple):
    """A source that was not stored, with the refusal as JSON."""

    transcript: str
    source: str
    refusal: dict[str, object]


class IndexExtension(NamedTuple):
    """What a capture added to an index, or the refusal, as JSON, of an index that it could not extend.

    The relations stand among the indexes: of them ``new_segments`` counts turns.
    """

    scheme: str
    new_segments: int
    refusal: dict[str, object] | None = None


class CaptureResult(NamedTuple):
    """What a call of ``capture`` did with all its sources, and with the indexes that the archive has."""

    archive: str
    archive_digest: str
    archive_bytes: int
    transcripts: tuple[CaptureReport, ...]
    refused: tuple[RefusedSource, ...]
    indexes: tuple[IndexExtension, ...] = ()


class PlannedSource(NamedTuple):
    """What a capture would do with one source: ``new``, ``grown``, ``same``, ``rewritten``, ``taken`` or ``refused``.

    ``days_left`` is the number of whole days until the client's own clean-up deletes the file, where that is known.
    """

    transcript: str
    source: str
    status: str
    source_bytes: int
    new_bytes: int
    days_left: int | None = None
    refusal: dict[str, object] | None = None


class CapturePlan(NamedTuple):
    """What a call of ``capture`` would do; nothing was written."""

    archive: str
    dry_run: bool
    transcripts: tuple[PlannedSource, ...]


class TranscriptRow(NamedTuple):
    """A transcript as ``ls`` lists it. ``text`` is the first words of the conversation."""

    transcript: str
    turns: int
    bytes: int
    source_sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]
    first_time: str | None
    last_time: str | None
    project: str | None
    text: str


class CaptureRow(NamedTuple):
    """A capture as ``ls --captures`` lists it.

    ``not_proved`` is the acquisition record: it is kept beside the record and is in no digest.
    """

    capture: int
    transcript: str
    kept_turns: int
    new_turns: int
    turns: int
    source_bytes: int
    source_sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]
    not_proved: dict[str, object]


class TurnRow(NamedTuple):
    """A turn as ``log`` lists it; ``text`` is an excerpt of 200 characters at most, ``complete`` its transcript's."""

    transcript: str
    turn: int
    role: str
    time: str | None
    bytes: int
    transcript_start_byte: int
    turn_sha256: str
    cite: str
    complete: bool
    text: str


class TurnText(NamedTuple):
    """A turn as a person reads it: ``parts`` are (kind, name, text), escapes decoded."""

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    role: str
    time: str | None
    dialect: str
    bytes: int
    turn_sha256: str
    digest_verified: bool
    cite: str
    parts: tuple[tuple[str, str, str], ...]


class Stretch(NamedTuple):
    """Verified bytes of one turn, as ``cat --json`` prints them: ``text``, or ``base64`` where they are not UTF-8."""

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    turn_sha256: str
    range_sha256: str
    cite: str
    digest_verified: bool
    text: str | None = None
    base64: str | None = None


class Redaction(NamedTuple):
    """Bytes of a turn, as it is held, that were replaced in what was printed."""

    start_byte: int
    end_byte: int
    rule: str


class RedactedStretch(NamedTuple):
    """A :class:`Stretch` whose secrets are replaced in ``text`` or ``base64``; digests are of the bytes that are held.

    ``redacted`` is the digest of the rules.
    """

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    turn_sha256: str
    range_sha256: str
    cite: str
    digest_verified: bool
    redacted: str
    redactions: tuple[Redaction, ...]
    text: str | None = None
    base64: str | None = None


class RedactedRow(NamedTuple):
    """An :class:`ExportRow` whose secrets are replaced in ``text``."""

    id: str
    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    turn_sha256: str
    text: str
    redactions: tuple[Redaction, ...]


class SecretPlace(NamedTuple):
    """A place where a secret is likely to stand, as ``scan`` prints it, and never the secret.

    ``fingerprint`` is the beginning of the SHA-256 of its text: equal secrets have the same one. ``complete`` says
    whether the transcript is held whole: what was left out could not be looked at.
    """

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    turn_sha256: str
    digest_verified: bool
    cite: str
    complete: bool
    rule: str
    description: str
    bytes: int
    fingerprint: str


class SecretCount(NamedTuple):
    """How many places of secrets a transcript has, and how many by each rule, as ``scan --count`` prints it."""

    transcript: str
    secrets: int
    rules: dict[str, int]
    complete: bool


class Hit(NamedTuple):
    """A place where a pattern stands. ``text`` is an excerpt of at most 200 characters around it.

    ``complete`` says whether the transcript is held whole: what was left out could not be searched.
    """

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    turn_sha256: str
    digest_verified: bool
    cite: str
    complete: bool
    text: str


class FindCount(NamedTuple):
    """How often a pattern stands in one transcript, as ``find -c`` prints it."""

    transcript: str
    matches: int


class CitePlace(NamedTuple):
    """A place where a quotation stands. ``text`` is an excerpt of at most 200 characters around it.

    ``role`` and ``time`` are the turn's. ``complete`` says whether the transcript is held whole.
    """

    transcript: str
    turn: int
    role: str
    time: str | None
    start_byte: int
    end_byte: int
    turn_sha256: str
    digest_verified: bool
    cite: str
    complete: bool
    text: str


class CiteDifference(NamedTuple):
    """Where a quotation and the record differ: ``kind`` is ``replaced``, ``missing`` or ``added``.

    What is ``missing`` stands in the quotation alone, what is ``added`` in the record alone. ``quote_start`` and
    ``quote_end`` count characters of the quotation, ``text_start`` and ``text_end`` those of the nearest place's
    ``text``; ``start_byte`` and ``end_byte`` are raw bytes of its turn.
    """

    kind: str
    quote_start: int
    quote_end: int
    quoted: str
    found: str
    text_start: int
    text_end: int
    start_byte: int
    end_byte: int


class CiteNearest(NamedTuple):
    """The stretch that comes nearest to a quotation, whole in ``text``, and where it differs.

    ``similarity`` is the share of the quotation's ``words`` that stand in the stretch in the order of the quotation,
    capital and small letters and typographic forms taken as the same: those are among the differences.
    """

    transcript: str
    turn: int
    role: str
    time: str | None
    start_byte: int
    end_byte: int
    turn_sha256: str
    digest_verified: bool
    cite: str
    complete: bool
    similarity: float
    words: int
    words_in_order: int
    differences: tuple[CiteDifference, ...]
    text: str


class CiteResult(NamedTuple):
    """Whether a quotation stands in the record, and where.

    ``how`` is ``raw`` (its bytes are those of the record), ``text`` (escapes decoded) or ``spacing`` (runs of white
    space taken as equal), and ``None`` where it is not ``exact``. ``hits`` are the first of ``places``. ``nearest`` is
    ``None`` where it is exact, and where less than half of its words stand in order in any stretch. Every one of
    ``searched_turns`` was hashed. ``omitted`` is what is not held of the transcript, where it is one.
    """

    archive: str
    archive_digest: str
    quote_bytes: int
    exact: bool
    how: str | None
    places: int
    hits: tuple[CitePlace, ...]
    nearest: CiteNearest | None
    searched_turns: int
    searched_bytes: int
    complete: bool
    omitted: tuple[ByteRange, ...]


class ExtractedFile(NamedTuple):
    """A transcript written to a file."""

    transcript: str
    path: str
    bytes: int
    sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]
    digest_verified: bool


class ExtractResult(NamedTuple):
    """What ``extract`` wrote."""

    archive: str
    archive_digest: str
    directory: str
    complete: bool
    files: tuple[ExtractedFile, ...]


class TranscriptState(NamedTuple):
    """A transcript and whether it is whole."""

    transcript: str
    source_sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]


class ArchiveInfo(NamedTuple):
    """What an archive holds, in both planes, and what it cost.

    ``record`` and ``auxiliary`` map a kind of file to its count and bytes; ``ratio`` is bytes of all transcripts to
    bytes of the archive.
    """

    archive: str
    archive_digest: str
    format_version: int
    transcripts: int
    captures: int
    turns: int
    objects: int
    packs: int
    bytes: int
    object_bytes: int
    archive_bytes: int
    ratio: float
    complete: bool
    omitted: tuple[ByteRange, ...]
    incomplete: tuple[TranscriptState, ...]
    record: dict[str, dict[str, int]]
    auxiliary: dict[str, dict[str, int]]
    indexes: tuple["IndexInfo", ...]
    words: tuple["WordsInfo", ...]
    vectors: tuple["VectorsInfo", ...]
    relations: tuple["RelationsInfo", ...]


class Finding(NamedTuple):
    """Something that ``verify`` found: a code, the file it stands in, and what is wrong."""

    code: str
    path: str
    message: str


class VerifyResult(NamedTuple):
    """What was checked, what was not, and what was found. ``ok`` is false where there is a finding."""

    archive: str
    archive_digest: str
    ok: bool
    checked: str
    turns: int
    bytes: int
    captures: int
    not_checked: tuple[str, ...]
    findings: tuple[Finding, ...]
    planes: dict[str, dict[str, object]]
    complete: bool
    transcripts: tuple[TranscriptState, ...]


class RepackResult(NamedTuple):
    """What ``repack`` did: sizes of all packs before and after, in bytes and files; the digest is the same."""

    archive: str
    archive_digest: str
    level: int
    packs_before: int
    packs_after: int
    bytes_before: int
    bytes_after: int
    archive_bytes: int


class SchemeRow(NamedTuple):
    """A scheme as ``segment --list`` lists it, and what the archive has of it."""

    scheme: str
    about: str
    parameters: dict[str, int]
    built: bool
    segments: int
    coverage: float
    refusal: dict[str, object] | None = None


class SegmentResult(NamedTuple):
    """What an index holds after ``segment``: segments of distinct turns, ``coverage`` as a share of their bytes.

    ``preservation_digest_before`` and ``_after`` are SHA-256 over all files of the record. ``cuts_inside_characters``
    counts those of a user's own cuts that fall inside a code point or an escape.
    """

    archive: str
    archive_digest: str
    scheme: str
    segments: int
    new_segments: int
    turns: int
    median_segment_bytes: float
    coverage: float
    bytes_covered_twice: int
    turns_not_fully_covered: int
    index_bytes: int
    words_bytes: int
    preservation_digest_before: str
    preservation_digest_after: str
    preservation_unchanged: bool
    cuts_inside_characters: int | None = None


class Coverage(NamedTuple):
    """What the rows stand for, as shares of the segments in the index, and of the record's distinct turns and bytes.

    ``first_turn`` and ``last_turn`` are the first and the last of those turns, or ``None`` where there is none.
    """

    segments: float
    bytes: float
    turns: float
    first_turn: int | None
    last_turn: int | None


class ExportHeader(NamedTuple):
    """The first line of an export: what it is of, and what its rows are. Vectors for it have to come back with it."""

    kind: str
    export_id: str
    archive: str
    archive_digest: str
    scheme: str
    parameters: dict[str, int]
    projection: str
    segments: int
    segments_in_index: int
    distinct: bool
    missing: bool
    sample: dict[str, object] | None
    coverage: Coverage
    complete: bool
    omitted: tuple[ByteRange, ...]


class ExportRow(NamedTuple):
    """A segment with the text that a model should see."""

    id: str
    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    turn_sha256: str
    text: str


class SegmentRow(NamedTuple):
    """A segment as ``log --scheme`` lists it; ``text`` is an excerpt of its view of 200 characters at most."""

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    bytes: int
    turn_sha256: str
    id: str
    scheme: str
    complete: bool
    text: str


class IndexInfo(NamedTuple):
    """An index as ``info`` lists it."""

    scheme: str
    segments: int
    coverage: float
    median_segment_bytes: float
    files: int
    bytes: int
    refusal: dict[str, object] | None = None


class VectorsInfo(NamedTuple):
    """Vectors of one identity, as ``info`` lists them; ``coverage`` is a share of the segments in their index."""

    scheme: str
    identity_fingerprint: str
    identity: dict[str, object]
    segments: int
    coverage: float
    files: int
    bytes: int
    refusal: dict[str, object] | None = None


class RelationsInfo(NamedTuple):
    """Relations as ``info`` lists them; ``coverage`` is a share of the distinct turns."""

    relations: str
    coverage: float
    files: int
    bytes: int
    refusal: dict[str, object] | None = None


class WordsInfo(NamedTuple):
    """A word index as ``info`` lists it; ``coverage`` is a share of the distinct turns."""

    scheme: str
    coverage: float
    files: int
    bytes: int
    refusal: dict[str, object] | None = None


class AttachResult(NamedTuple):
    """What ``attach`` stored: ``attached`` counts the segments that have a vector now and had none.

    ``already_attached`` counts those that had one, which stays as it is. ``coverage`` is a share of the segments in
    the index. ``preservation_digest_before`` and ``_after`` are SHA-256 over all files of the record.
    """

    archive: str
    archive_digest: str
    scheme: str
    attached: int
    already_attached: int
    segments_in_index: int
    coverage: float
    identity: dict[str, object]
    identity_fingerprint: str
    vectors_bytes: int
    preservation_digest_before: str
    preservation_digest_after: str
    preservation_unchanged: bool


class CommonPath(NamedTuple):
    """A path that is mentioned in too many turns of a transcript to join any two, and the first of them."""

    path: str
    turns: int
    transcript: str
    first_turn: int


class RelateResult(NamedTuple):
    """What the turns of the newest states say of each other.

    ``new_turns`` counts the distinct turns that were read for it now. ``by_kind`` counts edges, ``dialects`` turns,
    ``problems`` what could not be joined or is odd. ``common_paths`` lists at most 100 of ``paths_in_too_many_turns``.
    ``not_derivable`` are kinds that no record states. ``preservation_digest_before`` and ``_after`` are SHA-256 over
    all files of the record.
    """

    archive: str
    archive_digest: str
    relations: str
    turns: int
    new_turns: int
    edges: int
    by_kind: dict[str, int]
    not_derivable: tuple[str, ...]
    dialects: dict[str, int]
    problems: dict[str, int]
    paths_in_too_many_turns: int
    common_paths: tuple[CommonPath, ...]
    edges_bytes: int
    complete: bool
    omitted: tuple[ByteRange, ...]
    preservation_digest_before: str
    preservation_digest_after: str
    preservation_unchanged: bool


class BasisPlace(NamedTuple):
    """Where one turn of an edge states what joins it to the other."""

    start_byte: int
    end_byte: int
    cite: str


class Basis(NamedTuple):
    """What both turns of an edge state: an id or a path, as it is compared, and where each has it."""

    id: str | None
    path: str | None
    from_: BasisPlace
    to: BasisPlace


class Neighbour(NamedTuple):
    """The turn at the other end of an edge; ``text`` is an excerpt of at most 200 characters."""

    turn: int
    role: str
    time: str | None
    cite: str
    text: str


class Relation(NamedTuple):
    """An edge between two turns of a transcript.

    ``from_`` is the reply, the result of a tool or the later mention; ``to`` is its parent, its call or the mention
    before. ``neighbour`` is the other turn, where the relations of one were asked for.
    """

    kind: str
    from_: int
    to: int
    from_sha256: str
    to_sha256: str
    basis: tuple[Basis, ...]
    digest_verified: bool
    neighbour: Neighbour | None = None


class RelationsResult(NamedTuple):
    """The edges of one turn, or of a whole transcript (``turn`` is then ``None``), in order of their turns.

    ``coverage`` is the share of the transcript's turns that relations were derived from.
    """

    archive: str
    archive_digest: str
    transcript: str
    turn: int | None
    turn_sha256: str | None
    turns: int
    coverage: float
    by_kind: dict[str, int]
    complete: bool
    omitted: tuple[ByteRange, ...]
    relations: tuple[Relation, ...]


class ShareOfRecord(NamedTuple):
    """What was searched, as shares of the segments in the index, and of the distinct bytes and turns."""

    segments: float
    bytes: float
    turns: float


class Elsewhere(NamedTuple):
    """Another place that a hit stands for: ``why`` is ``turn`` (the same turn again) or ``text`` (the same text)."""

    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    cite: str
    why: str


class AddressHit(NamedTuple):
    """A place that answers a question.

    ``ranks`` has the rank in each channel that found it. ``matched`` are the words of the question that stand in it.
    ``echo`` says that its turn contains the question itself. ``also_at`` lists at most 100 of ``places`` - 1 others.
    """

    rank: int
    score: float
    ranks: dict[str, int]
    transcript: str
    turn: int
    start_byte: int
    end_byte: int
    turn_sha256: str
    digest_verified: bool
    cite: str
    text: str
    matched: tuple[str, ...]
    echo: bool
    places: int
    also_at: tuple[Elsewhere, ...]


class AddressResult(NamedTuple):
    """The answer to one question: what was searched, and how, and the hits.

    ``identity`` is that of the vectors, and ``None`` in the lexical channel. ``warnings`` are sentences.
    """

    archive: str
    archive_digest: str
    channel: str
    scheme: str
    identity: dict[str, object] | None
    identity_fingerprint: str | None
    searched: int
    segments_in_index: int
    coverage: ShareOfRecord
    backend: str | None
    centred: bool | None
    role: str | None
    transcript: str | None
    echoes: int
    warnings: tuple[str, ...]
    complete: bool
    omitted: tuple[ByteRange, ...]
    hits: tuple[AddressHit, ...]
    id: str | None = None


class EmbedEstimate(NamedTuple):
    """What ``embed`` is going to do.

    ``with_vector`` segments have a vector already; ``texts`` are sent, of ``characters`` in all, in ``calls`` calls
    that take about ``estimated_seconds``; ``known_texts`` have a vector at another segment, and are not sent.
    ``canaries`` says whether texts of ctxarc's own stand for weights that the model does not tell.
    """

    archive: str
    archive_digest: str
    scheme: str
    segments_in_index: int
    with_vector: int
    texts: int
    known_texts: int
    characters: int
    calls: int
    estimated_seconds: float
    identity: dict[str, object]
    identity_fingerprint: str
    api: str
    server: str | None
    document_prefix: str
    query_prefix: str
    canaries: bool


class EmbedResult(NamedTuple):
    """What ``embed`` did.

    ``texts`` were sent in ``calls`` calls; ``too_long`` of them were too long for the model and ``skipped`` had no
    vector that can be compared, and so were left out. ``attached`` counts the segments that have a vector now and had
    none, ``coverage`` is a share of the segments in the index.
    """

    archive: str
    archive_digest: str
    scheme: str
    texts: int
    attached: int
    too_long: int
    skipped: int
    calls: int
    seconds: float
    segments_in_index: int
    coverage: float
    identity: dict[str, object]
    identity_fingerprint: str
    vectors_bytes: int
    api: str
    server: str | None
    document_prefix: str
    query_prefix: str
    preservation_digest_before: str
    preservation_digest_after: str
    preservation_unchanged: bool


class TurnRange(NamedTuple):
    """Turns of a transcript, ``last_turn`` included; those that are not held are counted too."""

    first_turn: int
    last_turn: int


class ComparedSide(NamedTuple):
    """A transcript in one of two archives. ``turn_sha256`` is that of the turn where they differ, if it is held."""

    transcript: str
    turns: int
    source_bytes: int
    source_sha256: str
    complete: bool
    omitted: tuple[ByteRange, ...]
    turn_sha256: str | None


class TranscriptComparison(NamedTuple):
    """How a transcript stands in two archives.

    ``status`` is ``same``, ``grown``, ``diverged``, ``only_in_first``, ``only_in_second``, or ``not_compared`` where no
    turn is held by both. ``longer`` is ``first`` or ``second``, of what has grown. ``turn`` and ``byte``, of the
    source, say where the two cease to be equal. ``proved`` is false where the turns in ``not_compared``, which one side
    omits, could make the status another. ``matched_by`` is ``name`` or ``turns``.
    """

    status: str
    longer: str | None
    turn: int | None
    byte: int | None
    proved: bool
    compared_turns: int
    not_compared: tuple[TurnRange, ...]
    matched_by: str | None
    first: ComparedSide | None
    second: ComparedSide | None


class ComparedArchive(NamedTuple):
    """One of two archives that were compared: its newest states."""

    archive: str
    archive_digest: str
    transcripts: int
    turns: int
    source_bytes: int
    complete: bool


class CompareResult(NamedTuple):
    """Two archives, transcript by transcript; ``totals`` counts the transcripts of each status.

    ``same`` says that both hold the same bytes of the same sources under the same names. Archives that are the same
    have different digests where they were captured in other steps.
    """

    same: bool
    first: ComparedArchive
    second: ComparedArchive
    totals: dict[str, int]
    transcripts: tuple[TranscriptComparison, ...]


class ReplacedTurns(NamedTuple):
    """Turns that a longer line or a new history took the place of; ``at`` is a capture that still reads them."""

    first_turn: int
    last_turn: int
    turns: int
    bytes: int
    at: int


class Addition(NamedTuple):
    """What captures added to one transcript.

    The first ``kept_turns`` turns stayed. ``new_turns`` turns, from ``first_new_turn`` to ``last_new_turn``, of
    ``bytes`` bytes, were not there before at their numbers. ``turns`` and ``omitted`` are of the state behind them.
    """

    transcript: str
    captures: tuple[int, ...]
    turns: int
    kept_turns: int
    new_turns: int
    first_new_turn: int | None
    last_new_turn: int | None
    bytes: int
    replaced: tuple[ReplacedTurns, ...]
    complete: bool
    omitted: tuple[ByteRange, ...]


class AdditionsResult(NamedTuple):
    """What the captures behind ``since``, up to ``capture``, added.

    ``rows`` are the first of the ``total`` new turns, in byte order of transcripts' names.
    """

    archive: str
    archive_digest: str
    since: int
    capture: int
    new_turns: int
    replaced_turns: int
    bytes: int
    complete: bool
    transcripts: tuple[Addition, ...]
    total: int
    rows: tuple[TurnRow, ...]


class DroppedSet(NamedTuple):
    """Side files that were removed. ``kind`` is ``segments``, ``words``, ``vectors`` or ``edges``."""

    kind: str
    scheme: str
    identity_fingerprint: str | None
    files: int
    bytes: int


class DropResult(NamedTuple):
    """What ``drop_index`` removed; ``left`` are files in its places that are none of its own, and stay.

    ``preservation_digest_before`` and ``_after`` are SHA-256 over all files of the record.
    """

    archive: str
    archive_digest: str
    dropped: tuple[DroppedSet, ...]
    files: int
    bytes: int
    left: tuple[str, ...]
    preservation_digest_before: str
    preservation_digest_after: str
    preservation_unchanged: bool


class OmittedBytes(NamedTuple):
    """Bytes of a turn whose text is not shown, and the address that brings them back."""

    start_byte: int
    end_byte: int
    address: str


class ShownTurn(NamedTuple):
    """A turn in a view within a budget, whole: ``item`` is ``turn``."""

    item: str
    turn: int
    role: str
    time: str | None
    bytes: int
    cite: str
    text: str


class CutTurn(NamedTuple):
    """A turn in a view within a budget of which ``text`` is the beginning and ``tail`` the end: ``item`` is ``cut``."""

    item: str
    turn: int
    role: str
    time: str | None
    bytes: int
    cite: str
    text: str
    left_out: OmittedBytes
    tail: str


class OmittedTurns(NamedTuple):
    """Turns that a view within a budget leaves out: ``item`` is ``omitted``.

    ``roles`` counts them by role, ``kinds`` by the kind of their first part. ``addresses`` are those of the turns, or
    of the first and the last where there are many; the bytes ``span`` of the whole transcript are all of them.
    """

    item: str
    first_turn: int
    last_turn: int
    turns: int
    bytes: int
    roles: dict[str, int]
    kinds: dict[str, int]
    addresses: tuple[str, ...]
    span: str


class TurnsNotHeld(NamedTuple):
    """Turns of the source that no capture stored, by their bytes in the source: ``item`` is ``not_held``."""

    item: str
    first_turn: int
    last_turn: int
    turns: int
    start_byte: int
    end_byte: int


class BudgetView(NamedTuple):
    """A transcript within a number of bytes of JSON: ``items`` are all its turns in order, each in one item.

    ``shown_turns`` are whole, ``cut_turns`` shown in part, ``omitted_turns`` held and not shown. ``around`` is the turn
    around which they were chosen. ``complete`` and ``omitted`` say what of the source is held.
    """

    archive: str
    archive_digest: str
    transcript: str
    at: int | None
    budget: int
    around: int | None
    turns: int
    bytes: int
    shown_turns: int
    cut_turns: int
    omitted_turns: int
    omitted_bytes: int
    digest_verified: bool
    complete: bool
    omitted: tuple[ByteRange, ...]
    items: tuple[ShownTurn | CutTurn | OmittedTurns | TurnsNotHeld, ...]


_LEFT_OUT = {
    "days_left",
    "refusal",
    "base64",
    "cuts_inside_characters",
    "backend",
    "centred",
    "id",
    "path",
    "neighbour",
}
"""Fields that are left out of JSON where they are ``None``; ``text`` is too, where ``base64`` stands for it."""


def as_json(value: Any) -> Any:  # noqa: ANN401 - any class of this module, or a value of one of its fields
    """``value`` as dicts, lists and JSON scalars."""
    if hasattr(value, "_fields"):
        pairs = zip(value._fields, value, strict=True)
        shown = ((name, item) for name, item in pairs if not (item is None and name in _LEFT_OUT))
        fields = {name.removesuffix("_"): as_json(item) for name, item in shown}
        if "base64" in fields:
            del fields["text"]
        return fields
    if isinstance(value, (tuple, list)):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    return value
