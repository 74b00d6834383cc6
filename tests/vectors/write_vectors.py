"""Writes the vectors of what vault stores: codec, normaliser, row context, sealed value, term, definition.

Run it as `python tests/vectors/write_vectors.py`. It shares no code with vault or kms: AES-256-GCM is from
cryptography, the rest from the standard library. Its output is the stored format: a difference means that old
data cannot be opened or found.
"""

import hashlib
import hmac
import json
import struct
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY = bytes(range(32))
OTHER_KEY = bytes(range(255, 223, -1))
KEYRING = bytes.fromhex("00112233445566778899aabbccddeeff")
KEY_ID = bytes.fromhex("01020304")
OTHER_ID = bytes.fromhex("fffefdfc")
NONCE = bytes.fromhex("cafebabefacedbaddecaf888")
SOURCE = "computed by write_vectors.py from {}, not by vault"

Case = tuple[str, dict[str, Any]]


# What the documents say, once more.


def lp(part: bytes) -> bytes:
    return struct.pack(">I", len(part)) + part


def hkdf(key: bytes, info: bytes) -> bytes:
    """RFC 5869 with SHA-256, empty salt, one block of output."""
    return hmac.digest(hmac.digest(bytes(32), key, "sha256"), info + b"\x01", "sha256")


def derived(key: bytes, label: bytes, *names: str) -> bytes:
    return hkdf(key, lp(label) + lp(KEYRING) + b"".join(lp(name.encode()) for name in names))


def storage(codec: str, value: dict[str, Any]) -> bytes:
    ((kind, content),) = value.items()
    match codec, kind:
        case "str/1", "str":
            return content.encode()
        case "bytes/1", "bytes":
            return bytes.fromhex(content)
        case "int64/1", "int":
            return struct.pack("<q", int(content))
        case "float64/1", "float":
            return bytes.fromhex(content)[::-1]
        case "uuid/1", "uuid":
            return UUID(content).bytes
    raise ValueError(codec, kind)


def equality(codec: str, value: dict[str, Any]) -> bytes:
    stored = storage(codec, value)
    return bytes(8) if (codec, stored) == ("float64/1", bytes(7) + b"\x80") else stored


def row_context(bound: list[dict[str, str]], row: dict[str, Any]) -> bytes:
    return b"".join(lp(b["codec"].encode()) + lp(storage(b["codec"], row[b["column"]])) for b in bound)


def leftmost(digest: bytes, bits: int) -> bytes:
    spare = -bits % 8
    number = int.from_bytes(digest, "big") >> (256 - bits) << spare
    return number.to_bytes((bits + spare) // 8, "big")


def field(codec: str = "str/1", **changes: Any) -> dict[str, Any]:
    return {"table": "patients", "column": "name", "codec": codec, "bound": [], "generation": 0} | changes


def seal(
    of: dict[str, Any],
    value: dict[str, Any],
    row: dict[str, Any] | None = None,
    *,
    key: bytes = KEY,
    key_id: bytes = KEY_ID,
    nonce: bytes = NONCE,
) -> bytes:
    head = bytes((1, of["generation"])) + key_id
    aad = head + lp(of["codec"].encode()) + lp(row_context(of["bound"], row or {}))
    cipher = AESGCM(derived(key, b"noisevault/1 field", of["table"], of["column"]))
    return head + nonce + cipher.encrypt(nonce, storage(of["codec"], value), aad)


# Values, tagged with their kind: floats as the hexadecimal of their 64 bits, most significant first.


def text(value: str) -> dict[str, Any]:
    return {"str": value}


def number(value: int) -> dict[str, Any]:
    return {"int": str(value)}


def real(value: float) -> dict[str, Any]:
    return {"float": struct.pack(">d", value).hex()}


def octets(value: bytes) -> dict[str, Any]:
    return {"bytes": value.hex()}


def numbered(cases: list[Case]) -> list[dict[str, Any]]:
    return [
        {"tcId": tc, "comment": comment, "result": "invalid" if "error" in case else "valid"} | case
        for tc, (comment, case) in enumerate(cases, 1)
    ]


def encoded(codec: str, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "codec": codec,
        "value": value,
        "storage": storage(codec, value).hex(),
        "equality": equality(codec, value).hex(),
    }


def not_encoded(codec: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"codec": codec, "value": value, "error": "InvalidValueError"}


def not_decoded(codec: str, stored: bytes) -> dict[str, Any]:
    return {"codec": codec, "storage": stored.hex(), "error": "ValueError"}


NAN = struct.unpack(">d", bytes.fromhex("7ff8000000000000"))[0]
UUID_TEXT = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

CODEC: list[Case] = [
    ("text", encoded("str/1", text("Ann"))),
    ("the empty text is a value", encoded("str/1", text(""))),
    ("NUL is a character", encoded("str/1", text("ab\0cd"))),
    ("composed stays composed", encoded("str/1", text("zo\u00eb"))),
    ("decomposed stays decomposed", encoded("str/1", text("zoe\u0308"))),
    ("beyond the BMP", encoded("str/1", text("\U0001f600"))),
    ("a lone surrogate", not_encoded("str/1", text("\ud83d"))),
    ("bytes are not text", not_encoded("str/1", octets(b"Ann"))),
    ("not UTF-8", not_decoded("str/1", b"\xff")),
    ("a surrogate in CESU-8", not_decoded("str/1", b"\xed\xa0\xbd")),
    ("an overlong NUL", not_decoded("str/1", b"\xc0\x80")),
    ("bytes", encoded("bytes/1", octets(b"\x00\xff\x01"))),
    ("no bytes", encoded("bytes/1", octets(b""))),
    ("text is not bytes", not_encoded("bytes/1", text("00"))),
    ("zero", encoded("int64/1", number(0))),
    ("minus one", encoded("int64/1", number(-1))),
    ("258 is little-endian", encoded("int64/1", number(258))),
    ("the largest", encoded("int64/1", number(2**63 - 1))),
    ("the smallest", encoded("int64/1", number(-(2**63)))),
    ("one too large", not_encoded("int64/1", number(2**63))),
    ("one too small", not_encoded("int64/1", number(-(2**63) - 1))),
    ("a truth value is not an integer", not_encoded("int64/1", {"bool": True})),
    ("a float is not an integer", not_encoded("int64/1", real(1.0))),
    ("seven bytes", not_decoded("int64/1", bytes(7))),
    ("nine bytes", not_decoded("int64/1", bytes(9))),
    ("one and a half", encoded("float64/1", real(1.5))),
    ("a tenth", encoded("float64/1", real(0.1))),
    ("zero", encoded("float64/1", real(0.0))),
    ("minus zero is stored so, and equals zero", encoded("float64/1", real(-0.0))),
    ("infinity", encoded("float64/1", real(float("inf")))),
    ("the smallest subnormal", encoded("float64/1", real(5e-324))),
    (
        "NaN is stored and not indexed",
        {
            "codec": "float64/1",
            "value": real(NAN),
            "storage": storage("float64/1", real(NAN)).hex(),
            "equality": None,
        },
    ),
    ("text is not a float", not_encoded("float64/1", text("1.5"))),
    ("four bytes", not_decoded("float64/1", bytes(4))),
    ("a UUID is in network order", encoded("uuid/1", {"uuid": UUID_TEXT})),
    ("the text of a UUID is not a UUID", not_encoded("uuid/1", text(UUID_TEXT))),
    ("fifteen bytes", not_decoded("uuid/1", bytes(15))),
]


def normal(normaliser: str, value: str, normalised: str) -> dict[str, Any]:
    return {"normaliser": normaliser, "value": value, "normalised": normalised}


def not_normal(normaliser: str, value: str) -> dict[str, Any]:
    return {"normaliser": normaliser, "value": value, "error": "InvalidValueError"}


NORMALISER: list[Case] = [
    ("every difference counts", normal("exact/1", " Ann\u00eb ", " Ann\u00eb ")),
    ("blanks at both ends", normal("trimmed/1", "  Ann B \t\n", "Ann B")),
    ("other white space", normal("trimmed/1", "\u00a0\u3000\u2028Ann\u0085", "Ann")),
    ("separators of ASCII are not white space", normal("trimmed/1", "\x1cAnn\x1f", "\x1cAnn\x1f")),
    ("neither is a byte order mark", normal("trimmed/1", "\ufeffAnn", "\ufeffAnn")),
    ("blanks alone", normal("trimmed/1", "   ", "")),
    ("a phone number", normal("digits/1", "+44 (20) 7946-0018", "442079460018")),
    ("signs that are not ASCII are dropped", normal("digits/1", "020\u20117946\u00a00018", "02079460018")),
    ("the empty text", normal("digits/1", "", "")),
    ("no digit at all", not_normal("digits/1", "unknown")),
    ("other digits than 0 to 9", not_normal("digits/1", "\u0663\u0664")),
    ("other digits among 0 to 9", not_normal("digits/1", "12\u0663")),
    ("ASCII", normal("casefold/1", "Ana.Maria@Mail.EXAMPLE", "ana.maria@mail.example")),
    ("blanks count", normal("casefold/1", " A ", " a ")),
    ("sharp s", normal("casefold/1", "Stra\u00dfe", "strasse")),
    ("capital sharp s", normal("casefold/1", "STRA\u1e9eE", "strasse")),
    ("final sigma", normal("casefold/1", "\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c3")),
    ("final sigma, small", normal("casefold/1", "\u03bf\u03b4\u03bf\u03c2", "\u03bf\u03b4\u03bf\u03c3")),
    ("decomposed", normal("casefold/1", "jose\u0301", "jos\u00e9")),
    ("full width", normal("casefold/1", "\uff21\uff22", "ab")),
    ("a ligature", normal("casefold/1", "\ufb01ve", "five")),
    ("a unit whose letters become capitals when taken apart", normal("casefold/1", "\u3392", "mhz")),
    ("iota with two marks, composed", normal("casefold/1", "\u0390", "\u0390")),
    ("the same from its capital", normal("casefold/1", "\u03aa\u0301", "\u0390")),
    ("dotted capital I keeps its dot", normal("casefold/1", "\u0130", "i\u0307")),
    ("unassigned in Unicode 14.0", not_normal("casefold/1", "\u0378")),
    ("assigned in Unicode 15.0 only", not_normal("casefold/1", "\U0001fae8")),
    ("a noncharacter", not_normal("casefold/1", "\uffff")),
]

PERSON = [{"column": "person", "codec": "int64/1"}]
TWO = [*PERSON, {"column": "tag", "codec": "bytes/1"}]


def bound_to(bound: list[dict[str, str]], row: dict[str, Any]) -> dict[str, Any]:
    return {"bound": bound, "row": row, "context": row_context(bound, row).hex()}


def not_bound(bound: list[dict[str, str]], row: dict[str, Any] | None) -> dict[str, Any]:
    return {"bound": bound, "row": row, "error": "RowBindingError"}


ROW_CONTEXT: list[Case] = [
    ("not row-bound", bound_to([], {})),
    ("an integer", bound_to(PERSON, {"person": number(7)})),
    ("other columns do not count", bound_to(PERSON, {"person": number(7), "city": text("Rome")})),
    ("two columns, in the definition's order", bound_to(TWO, {"tag": octets(b"ab"), "person": number(7)})),
    ("a UUID", bound_to([{"column": "id", "codec": "uuid/1"}], {"id": {"uuid": UUID_TEXT}})),
    ("text", bound_to([{"column": "code", "codec": "str/1"}], {"code": text("\u00e9")})),
    ("the empty text is a value", bound_to([{"column": "code", "codec": "str/1"}], {"code": text("")})),
    ("no row", not_bound(PERSON, None)),
    ("a missing column", not_bound(TWO, {"person": number(7)})),
    ("NULL", not_bound(PERSON, {"person": None})),
    ("another type", not_bound(PERSON, {"person": text("7")})),
    ("out of range", not_bound(PERSON, {"person": number(2**63)})),
]


def sealed(comment: str, of: dict[str, Any], value: dict[str, Any], row: dict[str, Any] | None = None) -> Case:
    return comment, {
        "keyring": KEYRING.hex(),
        "keys": {KEY_ID.hex(): KEY.hex()},
        "field": of,
        "key_id": KEY_ID.hex(),
        "nonce": NONCE.hex(),
        "value": value,
        "row": row,
        "sealed": seal(of, value, row).hex(),
    }


def refused(comment: str, error: str, stored: bytes, of: dict[str, Any] | None = None, **more: Any) -> Case:
    return comment, {
        "keyring": KEYRING.hex(),
        "keys": {KEY_ID.hex(): KEY.hex()},
        "field": of or field(),
        "row": None,
        "sealed": stored.hex(),
        "error": error,
    } | more


NAME = seal(field(), text("Ann"))
BOUND = field("float64/1", column="income", bound=PERSON)
INCOME = seal(BOUND, real(1234.5), {"person": number(7)})


def flipped(data: bytes, at: int, mask: int = 1) -> bytes:
    return data[:at] + bytes((data[at] ^ mask,)) + data[at + 1 :]


SEALED_VALUE: list[Case] = [
    sealed("text", field(), text("Ann")),
    sealed("the empty text", field(), text("")),
    sealed("text that is not ASCII, with NUL", field(), text("zo\u00eb\0\U0001f600")),
    sealed("a sealed value's own bytes are a value", field("bytes/1"), octets(NAME)),
    sealed("an integer", field("int64/1"), number(-42)),
    sealed("a float", field("float64/1"), real(-0.0)),
    sealed("a UUID", field("uuid/1"), {"uuid": UUID_TEXT}),
    sealed("a schema before the table", field(table="clinic.patients"), text("Ann")),
    sealed("names that are not ASCII", field(table="citt\u00e0", column="na\u00efve"), text("Ann")),
    sealed("the last generation", field(generation=255), text("Ann")),
    sealed("bound to its row", BOUND, real(1234.5), {"person": number(7)}),
    sealed("bound by two columns", field(bound=TWO), text("Ann"), {"person": number(-7), "tag": octets(b"")}),
    sealed("longer than one block", field(), text("Ann " * 100)),
    refused("another column", "CannotOpenError", NAME, field(column="alias")),
    refused("another table", "CannotOpenError", NAME, field(table="doctors")),
    refused("the names split elsewhere", "CannotOpenError", NAME, field(table="patientsn", column="ame")),
    refused("another row", "CannotOpenError", INCOME, BOUND, row={"person": number(8)}),
    refused("no row", "RowBindingError", INCOME, BOUND),
    refused("a row where none was bound", "CannotOpenError", NAME, field(bound=PERSON), row={"person": number(7)}),
    refused("not bound where a row was bound", "CannotOpenError", INCOME, BOUND | {"bound": []}),
    refused("another codec", "CannotOpenError", NAME, field("bytes/1")),
    refused("another keyring", "CannotOpenError", NAME, keyring=bytes(15).hex() + "01"),
    refused("another key under the same id", "CannotOpenError", NAME, keys={KEY_ID.hex(): OTHER_KEY.hex()}),
    refused("a key id that the keyring has not", "UnknownKeyError", flipped(NAME, 5)),
    refused(
        "another key's id, and that key is there",
        "CannotOpenError",
        NAME[:2] + OTHER_ID + NAME[6:],
        keys={KEY_ID.hex(): KEY.hex(), OTHER_ID.hex(): OTHER_KEY.hex()},
    ),
    refused(
        "no key but the named one is tried",
        "UnknownKeyError",
        NAME,
        keys={OTHER_ID.hex(): KEY.hex()},
    ),
    refused("a generation that is not known", "UnknownGenerationError", flipped(NAME, 1)),
    refused(
        "another generation, and it is known",
        "CannotOpenError",
        flipped(NAME, 1),
        generations=[field(generation=1)],
    ),
    refused("one byte less", "CannotOpenError", NAME[:-1]),
    refused("one byte more", "CannotOpenError", NAME + b"\0"),
    refused("cut down to its overhead", "CannotOpenError", NAME[:34]),
    refused("cut below its overhead", "NotSealedError", NAME[:33]),
    refused("only the header", "NotSealedError", NAME[:6]),
    refused("no bytes", "NotSealedError", b""),
    refused("another format", "NotSealedError", flipped(NAME, 0, 3)),
    refused("key id zero", "NotSealedError", NAME[:2] + bytes(4) + NAME[6:]),
    refused("plaintext", "NotSealedError", b"Ann, plain as she is, for 34 bytes and more"),
    refused("a flipped bit in the nonce", "CannotOpenError", flipped(NAME, 6)),
    refused("a flipped bit in the ciphertext", "CannotOpenError", flipped(NAME, 18)),
    refused("a flipped bit in the tag", "CannotOpenError", flipped(NAME, len(NAME) - 1, 0x80)),
    refused("authentic, but not text", "CannotOpenError", seal(field("bytes/1"), octets(b"\xff")), field("str/1")),
]


def indexed(
    comment: str,
    normaliser: str,
    value: dict[str, Any],
    normalised: dict[str, Any],
    *,
    bits: int = 256,
    codec: str = "str/1",
    generation: int = 0,
    column: str = "email",
    index: str = "bidx",
    table: str = "patients",
) -> Case:
    mac_input = equality(codec, normalised)
    key = derived(KEY, b"noisevault/1 index", table, column, index)
    prefix = bytes((generation,)) + KEY_ID
    return comment, {
        "kind": "index",
        "keyring": KEYRING.hex(),
        "index_key": KEY.hex(),
        "key_id": KEY_ID.hex(),
        "field": field(codec, table=table, column=column, generation=generation),
        "index": {"name": index, "normaliser": normaliser, "bits": bits},
        "value": value,
        "equality": mac_input.hex(),
        "term": (prefix + leftmost(hmac.digest(key, mac_input, "sha256"), bits)).hex(),
    }


def not_indexed(comment: str, codec: str, normaliser: str, value: dict[str, Any]) -> Case:
    return comment, {
        "kind": "index",
        "keyring": KEYRING.hex(),
        "index_key": KEY.hex(),
        "key_id": KEY_ID.hex(),
        "field": field(codec, column="email"),
        "index": {"name": "bidx", "normaliser": normaliser, "bits": 256},
        "value": value,
        "error": "InvalidValueError",
    }


def shared(comment: str, scope: str, value: str) -> Case:
    key = derived(KEY, b"noisevault/1 shared index", scope)
    term = b"\0" + KEY_ID + hmac.digest(key, value.encode(), "sha256")
    return comment, {
        "kind": "shared",
        "keyring": KEYRING.hex(),
        "index_key": KEY.hex(),
        "key_id": KEY_ID.hex(),
        "scope": scope,
        "equality": value.encode().hex(),
        "term": term.hex(),
    }


def compound(comment: str, parts: list[bytes | None]) -> Case:
    key = derived(KEY, b"noisevault/1 compound index", "patients", "name_and_birth")
    known = [part for part in parts if part is not None]
    mac_input = b"".join(lp(part) for part in known) if len(known) == len(parts) else None
    term = None if mac_input is None else b"\0" + KEY_ID + hmac.digest(key, mac_input, "sha256")
    return comment, {
        "kind": "compound",
        "keyring": KEYRING.hex(),
        "index_key": KEY.hex(),
        "key_id": KEY_ID.hex(),
        "table": "patients",
        "index": "name_and_birth",
        "parts": [None if part is None else part.hex() for part in parts],
        "input": None if mac_input is None else mac_input.hex(),
        "term": None if term is None else term.hex(),
    }


TERM: list[Case] = [
    indexed("exact", "exact/1", text("Ann"), text("Ann")),
    indexed("the empty text has a term", "exact/1", text(""), text("")),
    indexed("digits", "digits/1", text("123-45-6789"), text("123456789")),
    indexed("the same digits, the same term", "digits/1", text(" 123 45 6789"), text("123456789")),
    indexed("trimmed", "trimmed/1", text(" Ann "), text("Ann")),
    indexed("casefold", "casefold/1", text("ANN@Example.org"), text("ann@example.org")),
    indexed("another index of the field", "exact/1", text("Ann"), text("Ann"), index="whole"),
    indexed("another column", "exact/1", text("Ann"), text("Ann"), column="alias"),
    indexed("another table", "exact/1", text("Ann"), text("Ann"), table="clinic.patients"),
    indexed("another generation", "exact/1", text("Ann"), text("Ann"), generation=7),
    indexed("an integer", "exact/1", number(-1), number(-1), codec="int64/1"),
    indexed("minus zero has zero's term", "exact/1", real(-0.0), real(0.0), codec="float64/1"),
    indexed("bytes", "exact/1", octets(b"\0\xff"), octets(b"\0\xff"), codec="bytes/1"),
    indexed("1 bit", "exact/1", text("Ann"), text("Ann"), bits=1),
    indexed("7 bits", "exact/1", text("Ann"), text("Ann"), bits=7),
    indexed("8 bits", "exact/1", text("Ann"), text("Ann"), bits=8),
    indexed("20 bits", "exact/1", text("Ann"), text("Ann"), bits=20),
    indexed("255 bits", "exact/1", text("Ann"), text("Ann"), bits=255),
    not_indexed("NaN", "float64/1", "exact/1", real(NAN)),
    not_indexed("a lone surrogate", "str/1", "exact/1", text("\ud83d")),
    not_indexed("a lone surrogate is not dropped with what is no digit", "str/1", "digits/1", text("1\ud83d")),
    not_indexed("no digit", "str/1", "digits/1", text("n/a")),
    not_indexed("text in an index of integers", "int64/1", "exact/1", text("1")),
    shared("shared by columns", "person", "123456789"),
    shared("another scope", "animal", "123456789"),
    compound("two parts", [b"Ann", b"2031-01-01"]),
    compound("the same bytes, split elsewhere", [b"Ann2", b"031-01-01"]),
    compound("empty parts", [b"", b""]),
    compound("one part is NULL", [b"Ann", None]),
]


def defined(text_of_it: str) -> dict[str, Any]:
    return {"canonical_json": text_of_it, "fingerprint": hashlib.sha256(text_of_it.encode()).hexdigest()}


DEFINITION: list[Case] = [
    (
        "the least",
        defined(
            '{"bound":[],"codec":"str/1","column":"name","format":"noisevault/1 field","generation":0,'
            '"indexes":[],"table":"patients"}'
        ),
    ),
    (
        "everything",
        defined(
            '{"bound":[{"codec":"int64/1","column":"person"},{"codec":"uuid/1","column":"visit"}],"codec":"str/1",'
            '"column":"phone","format":"noisevault/1 field","generation":3,"indexes":[{"bits":256,"name":"bidx",'
            '"normaliser":"digits/1"},{"bits":20,"name":"rough","normaliser":"exact/1"}],"table":"clinic.patients"}'
        ),
    ),
    (
        "names with what JSON escapes, and with what it need not",
        defined(
            '{"bound":[],"codec":"bytes/1","column":"a\\"b\\\\c\\n\\u0001/\u00e9\U0001f600\u007f",'
            '"format":"noisevault/1 field","generation":255,"indexes":[],"table":"citt\u00e0"}'
        ),
    ),
    ("not JSON", {"canonical_json": "{", "error": "DefinitionError"}),
    (
        "blanks",
        {
            "canonical_json": '{"bound":[], "codec":"str/1","column":"name","format":"noisevault/1 field",'
            '"generation":0,"indexes":[],"table":"patients"}',
            "error": "DefinitionError",
        },
    ),
    (
        "a member too many",
        {
            "canonical_json": '{"bound":[],"codec":"str/1","column":"name","extra":1,"format":"noisevault/1 field",'
            '"generation":0,"indexes":[],"table":"patients"}',
            "error": "DefinitionError",
        },
    ),
    (
        "a codec that is not known",
        {
            "canonical_json": '{"bound":[],"codec":"str/9","column":"name","format":"noisevault/1 field",'
            '"generation":0,"indexes":[],"table":"patients"}',
            "error": "DefinitionError",
        },
    ),
]

FILES = {
    "codec": (CODEC, "RFC 3629, IEEE 754 and RFC 9562"),
    "normaliser": (NORMALISER, "The Unicode Standard 14.0, section 3.13 (D146) and its White_Space property"),
    "row_context": (ROW_CONTEXT, "docs/formats.md"),
    "sealed_value": (SEALED_VALUE, "NIST SP 800-38D and RFC 5869"),
    "term": (TERM, "RFC 2104 and RFC 5869"),
    "definition": (DEFINITION, "RFC 8785 and FIPS 180-4"),
}


def main() -> None:
    for name, (cases, source) in FILES.items():
        content = {"format": f"noisevault/1 {name}", "source": SOURCE.format(source), "tests": numbered(cases)}
        path = Path(__file__).parent / f"{name}.json"
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
