"""Restore steps: what to do about findings, in the order in which it is safe, in words and commands."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kms import Purpose
from vault.restoration.finding import Finding, FindingKind
from vault.restoration.needed_keys import KeyNeed

__all__ = ["steps"]

K = FindingKind
# By these the key store, or the ledger, is older than what it is used with; by those the data are.
STORE_BACK: Final = frozenset(
    {
        K.KEY_UNKNOWN,
        K.KEY_EARLY,
        K.SEQUENCE_GAP,
        K.COUNTER_BACK,
        K.LEDGER_COUNTER,
        K.GENERATION_UNKNOWN,
        K.MODE_BACK,
        K.NO_KEYRING,
    }
)
LEDGER: Final = frozenset({K.LEDGER_LACKING, K.LEDGER_BACK, K.LEDGER_OTHER, K.LEDGER_BROKEN, K.LEDGER_KEY})
SEALED_ON: Final = frozenset({K.KEY_UNKNOWN, K.KEY_EARLY, K.COUNTER_BACK})
TERMS: Final = frozenset({K.SLOT_OTHER, K.TERM_LACKING})


def steps(findings: Sequence[Finding], needs: Iterable[KeyNeed]) -> list[str]:
    """Nothing where nothing was found."""
    return list(_steps({one.kind for one in findings}, findings, list(needs))) if findings else []


def _steps(kinds: set[FindingKind], findings: Sequence[Finding], needs: Sequence[KeyNeed]) -> Iterator[str]:
    yield (
        "Stop every process that writes: services, jobs (noisevault jobs stop), cron. Those that ran before the restore"
        " hold keys, counts and modes in memory that the stores may not know: start none before the last step."
    )
    if kinds & LEDGER:
        yield "Stop whoever asks (noisevault ask): each answer from now on is charged to a budget that may be wrong."
    yield from _put_back(kinds)
    if K.KEK_AWAY in kinds:
        yield "Have the key service answer (noisevault keys list says what it says), then run this again."
    if K.KEK_FAILS in kinds:
        yield (
            "Bring back the key-encryption key, or the version of it, that the wrapped keys name: under kek_former in"
            " the policy if they were moved. Without it what they sealed is lost. Then: noisevault keys check"
        )
    for need in needs:
        if need.record is not None and need.record.destroy_after is not None and _opens_something(need):
            yield f"noisevault keys restore {need.key_id.hex()}"
    yield from _rotations(kinds)
    yield from _moves(kinds, findings)
    yield from _ledger(kinds)
    yield from _lost(findings)
    if kinds & STORE_BACK:
        yield (
            "The key store has forgotten each database that was registered since its copy, and a key is retired without"
            " it: type noisevault keys databases with the policy of every database, before any key is retired."
        )
    yield "Start the services. Then look at all rows: noisevault verify --anew"


def _put_back(kinds: set[FindingKind]) -> Iterator[str]:
    if kinds & STORE_BACK:
        yield (
            "The key store is older than the data or the ledger. If any later copy of it exists, put that back before"
            " anything else and run this again (noisevault keys check --backup FILE says what a copy has): keys that"
            " are made from now on are not in it. Go on with what follows only if there is none."
        )
    if K.SCHEMA in kinds:
        yield (
            "Put back the copy of the data, if that is still to be done: tables that are made first stand in its way."
            " Then bring the database to the schema of today: your migrations, or noisevault init, which makes keys"
            " and definitions that are not there: so not before the key store is the right one; then run this again."
        )
    if kinds & {K.LEDGER_BACK, K.LEDGER_LACKING, K.LEDGER_OTHER}:
        yield "If any later copy of the ledger exists, put that back and run this again."


def _opens_something(need: KeyNeed) -> bool:
    return any(use.what != "terms" for use in need.uses)


def _rotations(kinds: set[FindingKind]) -> Iterator[str]:
    if kinds & SEALED_ON:
        yield (
            "Rotate first, before any service seals again: the active key sealed values that are not counted, and 2**32"
            " seals are its limit; nonces are random and none is used twice by this: noisevault rotate --purpose"
            f" {Purpose.DATA}"
        )
    if K.KEY_EARLY in kinds:
        yield f"Once more, since the key that is active then sealed before: noisevault rotate --purpose {Purpose.DATA}"
    if K.LEDGER_COUNTER in kinds:
        yield f"noisevault rotate --purpose {Purpose.LEDGER}"


def _moves(kinds: set[FindingKind], findings: Sequence[Finding]) -> Iterator[str]:
    for one in findings:
        match one.kind:
            case K.MODE_BACK:
                yield (
                    f"{one.where}: run no noisevault backfill, which would take {one.count} sealed values for deleted."
                    " Without a later copy of the key store see docs/restore.md, on modes."
                )
            case K.MODE_AHEAD:
                yield (
                    f"{one.where}: run no noisevault restore and no mode before, which would take {one.count}"
                    " plaintexts for deleted. Take the mode to dual-read-plaintext as docs/restore.md says, on modes,"
                    f" then: noisevault backfill {one.where} --after-lease"
                )
            case K.PROOF_STALE:
                yield (
                    f"{one.where}: a step of its change would be allowed by a proof of what went back. Of an index:"
                    " noisevault reindex --all --abort, then --all --wait. Of a field: its job once more, backfill or"
                    " restore, with --after-lease, before any step of noisevault mode."
                )
    if K.GENERATION_UNKNOWN in kinds:
        yield "Deploy the code that declares these generations: its start, or noisevault init, records them again."
    if kinds & {K.KEY_RETIRED, K.KEY_EARLY, K.COUNTER_BACK}:
        yield "noisevault reencrypt --after-lease"
    if kinds & TERMS or K.GENERATION_UNKNOWN in kinds:
        yield f"Only now, after definitions are recorded: noisevault rotate --purpose {Purpose.INDEX}"
        yield "Until this is done, look-ups miss rows: noisevault reindex --all --wait"


def _ledger(kinds: set[FindingKind]) -> Iterator[str]:
    if kinds & {K.LEDGER_BACK, K.LEDGER_LACKING, K.LEDGER_OTHER}:
        yield (
            "Without a later ledger, what was spent since its copy is forgotten, and what was answered is not: lower"
            " lifetime_epsilon of each dataset by the most that it may have been (to what is left of it, if nobody"
            " knows), then: noisevault init"
        )
    if K.LEDGER_BROKEN in kinds:
        yield "The audit log is not whole: put back another copy of the ledger, all of its tables from one moment."
    if K.LEDGER_KEY in kinds:
        yield "Without those ledger keys the audit log is verified no more, and stored answers are not read again."


def _lost(findings: Sequence[Finding]) -> Iterator[str]:
    for one in findings:
        key = one.key_id.hex()
        if one.kind is K.KEY_UNKNOWN:
            yield (
                f"Lost for good, unless a later copy of the key store has key {key}: {one.count} values of {one.where}"
            )
        elif one.kind is K.KEY_DESTROYED:
            yield (
                f"Lost for good: {one.count} values of {one.where}, under key {key}, which was destroyed; a copy of the"
                " key store from before that opens them (noisevault keys check --backup FILE)."
            )
