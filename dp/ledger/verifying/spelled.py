"""Spelled: the entry of a charge or an answer as its row gives it.

An entry is canonical JSON and signed, so that of one with those very bytes nothing need be parsed: the bytes are built
from the row and compared. What the row has not (the time and principal of an answer, a charge's scopes) is taken as it
stands. Only what is plain to see is: the text has no backslash and the row no quotation mark, which is why the text
can say nothing else. Of anything more the answer is no, and the entry is to be parsed.
"""

import json
from typing import Any, Final

from dp.ledger.answers import digest
from dp.ledger.log.audit import FORMAT

__all__ = ["answer_is_spelled", "scopes_of_spelled"]

PRINCIPAL: Final = '"principal":"'
SCOPES: Final = '"scopes":'
AFTER_SCOPES: Final = ',"sealed_sha256":'


def answer_is_spelled(text: object, key_id: object, previous: str, row: tuple[Any, ...]) -> bool:
    """Whether a signed text is the entry of this row of answers, after the one with MAC `previous`."""
    number, visibility, dataset, epoch, question_mac, attempt, charge_id, sealed = row
    if type(text) is not str or type(sealed) is not bytes or "\\" in text:
        return False
    if not _are_plain(visibility, dataset, question_mac, charge_id):
        return False
    at = text[6 : text.find(",")]
    begin = text.find(PRINCIPAL) + len(PRINCIPAL)
    principal = text[begin : text.find('"', begin)]
    return at.isdigit() and text == (
        f'{{"at":{at},"attempt":{attempt!r},"charge":"{charge_id}","dataset":"{dataset}","epoch":{epoch!r}'
        f',"format":"{FORMAT}","key":"{key_id}","kind":"answer","previous":"{previous}","principal":"{principal}"'
        f',"question_mac":"{question_mac}","sealed_sha256":"{digest(sealed)}","sequence":{number!r}'
        f',"visibility":"{visibility}"}}'
    )


def scopes_of_spelled(text: object, key_id: object, previous: str, row: tuple[Any, ...]) -> list[Any] | None:
    """Of a signed text that is the entry of this row of charges, of no request with an id: its scopes. Else None."""
    number, visibility, dataset, epoch, question_mac, attempt, principal, *cost, charge_id, request_id, at, sealed = row
    if type(text) is not str or type(sealed) is not bytes or request_id is not None or "\\" in text:
        return None
    if not _are_plain(visibility, dataset, question_mac, principal, charge_id):
        return None
    nano_epsilon, nano_rho, atto_delta, unbounded = cost
    begin = text.find(SCOPES) + len(SCOPES)
    scopes = text[begin : text.find(AFTER_SCOPES, begin)]
    if text != (
        f'{{"at":{at!r},"attempt":{attempt!r},"atto_delta":{atto_delta!r},"charge":"{charge_id}","dataset":"{dataset}"'
        f',"epoch":{epoch!r},"format":"{FORMAT}","key":"{key_id}","kind":"charge","nano_epsilon":{nano_epsilon!r}'
        f',"nano_rho":{nano_rho!r},"previous":"{previous}","principal":"{principal}","question_mac":"{question_mac}"'
        f',"scopes":{scopes},"sealed_sha256":"{digest(sealed)}","sequence":{number!r},"unbounded":{unbounded!r}'
        f',"visibility":"{visibility}"}}'
    ):
        return None
    return [] if scopes == "[]" else _list(scopes)


def _list(text: str) -> list[Any] | None:
    try:
        found = json.loads(text)
    except (RecursionError, ValueError):
        return None
    return found if isinstance(found, list) else None


def _are_plain(*values: Any) -> bool:
    try:
        return '"' not in "".join(values)
    except TypeError:  # SQLite takes from anyone bytes in place of text
        return False
