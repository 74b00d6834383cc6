"""Writes the vectors of what vault stores: codec, normaliser, row context, sealed value, term, definition.

Run it as `python tests/vectors/write_vectors.py`. It shares no code with vault or kms: AES-256-GCM and argon2id are
from cryptography, the rest from the standard library. Its output is the stored format: a difference means that old
data cannot be opened or found.
"""

import hashlib
import hmac
import json
import re
import struct
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

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
    codec, _, padding = codec.partition("+")
    if padding:
        return padded(storage(codec, value), padding)
    match codec, kind:
        case ("str/1", "str") | ("enum/1", "str"):
            return content.encode()
        case "bytes/1", "bytes":
            return bytes.fromhex(content)
        case "int64/1", "int":
            return struct.pack("<q", int(content))
        case "int/1", "int":
            return shortest(int(content))
        case "float64/1", "float":
            return bytes.fromhex(content)[::-1]
        case "decimal/1", "decimal":
            return content.encode("ascii")
        case "bool/1", "bool":
            return b"\1" if content else b"\0"
        case "uuid/1", "uuid":
            return UUID(content).bytes
        case "date/1", "date":
            return struct.pack("<i", (date.fromisoformat(content) - date(1970, 1, 1)).days)
        case ("datetime/1", "datetime" | "second datetime") | ("time/1", "time" | "second time"):
            shown, offset = clock(kind, content)
            kind_of_clock = 2 if offset is not None else int(kind.startswith("second"))
            return struct.pack("<Bqq", kind_of_clock, shown, offset or 0)
        case "json/1", "json":
            return json_text(json.loads(content)).encode()
    raise ValueError(codec, kind)


def equality(codec: str, value: dict[str, Any]) -> bytes:
    codec = codec.partition("+")[0]
    stored = storage(codec, value)
    ((kind, content),) = value.items()
    match codec:
        case "float64/1":
            return bytes(8) if stored == bytes(7) + b"\x80" else stored
        case "decimal/1":
            return decimal_equality(content)
        case "datetime/1" | "time/1":
            shown, offset = clock(kind, content)
            return struct.pack("<Bqq", 0 if offset is None else 2, shown - (offset or 0), 0)
        case "json/1":
            return json_text(json.loads(content), numeric=True).encode()
    return stored


def padded(data: bytes, padding: str) -> bytes:
    size = int(padding[3:])
    data += b"\x80"
    while len(data) % size:
        data += b"\0"
    return data


def shortest(number: int) -> bytes:
    """Two's complement, by trying."""
    size = 1
    while not -(1 << (8 * size - 1)) <= number < 1 << (8 * size - 1):
        size += 1
    return number.to_bytes(size, "little", signed=True)


def decimal_equality(content: str) -> bytes:
    sign, whole, part, exponent = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?(?:E([+-]\d+))?", content).groups()
    digits = (whole + (part or "")).lstrip("0")
    if not digits:
        return b"0"
    scale = int(exponent or 0) - len(part or "")
    while digits.endswith("0"):
        digits, scale = digits[:-1], scale + 1
    return f"{sign}{digits}E{scale}".encode()


def clock(kind: str, content: str) -> tuple[int, int | None]:
    """Microseconds shown, since 1970 or midnight, and the offset in microseconds."""
    of_day = "datetime" not in kind
    read = time.fromisoformat(content) if of_day else datetime.fromisoformat(content)
    offset = read.utcoffset()
    shown = read.replace(tzinfo=None)
    whole = datetime.combine(date(1970, 1, 1), shown) if of_day else shown
    microsecond = timedelta(microseconds=1)
    since = whole - datetime(1970, 1, 1)  # noqa: DTZ001
    return since // microsecond, None if offset is None else offset // microsecond


def json_text(value: Any, *, numeric: bool = False) -> str:
    match value:
        case dict():
            names = sorted(value, key=lambda name: name.encode())
            members = (f"{json.dumps(n, ensure_ascii=False)}:{json_text(value[n], numeric=numeric)}" for n in names)
            return "{" + ",".join(members) + "}"
        case list():
            return "[" + ",".join(json_text(member, numeric=numeric) for member in value) + "]"
        case float() if numeric and value == int(value):
            return str(int(value))
        case float():
            return json_float(value)
    return json.dumps(value, ensure_ascii=False)


def json_float(value: float) -> str:
    """ECMA-262, Number::toString, with the fewest digits found by trying, and .0 where there is no point or e."""
    spelled = next(text for digits in range(17) if float(text := f"{value:.{digits}e}") == value)
    mantissa, _, exponent = spelled.partition("e")
    sign, digits = ("-" if mantissa[0] == "-" else ""), mantissa.strip("-").replace(".", "")
    n = int(exponent) + 1
    if value == 0:
        return f"{sign}0.0"
    if 0 < n <= 21:
        digits = digits.ljust(n, "0")
        return f"{sign}{digits[:n]}.{digits[n:] or '0'}"
    if -6 < n <= 0:
        return f"{sign}0.{'0' * -n}{digits}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{'+' if n > 0 else '-'}{abs(n - 1)}"


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
    raw: bytes | None = None,
) -> bytes:
    head = bytes((1, of["generation"])) + key_id
    aad = head + lp(of["codec"].encode()) + lp(row_context(of["bound"], row or {}))
    cipher = AESGCM(derived(key, b"noisevault/1 field", of["table"], of["column"]))
    return head + nonce + cipher.encrypt(nonce, storage(of["codec"], value) if raw is None else raw, aad)


# Values, tagged with their kind: floats as the hexadecimal of their 64 bits, most significant first.


def text(value: str) -> dict[str, Any]:
    return {"str": value}


def number(value: int) -> dict[str, Any]:
    return {"int": str(value)}


def real(value: float) -> dict[str, Any]:
    return {"float": struct.pack(">d", value).hex()}


def octets(value: bytes) -> dict[str, Any]:
    return {"bytes": value.hex()}


def tagged(kind: str, content: str) -> dict[str, Any]:
    return {kind: content}


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

DECIMALS = (
    "0", "-0", "0.500", "1E+3", "-0.00", "0.004", "12345678901234567890.123456789012", "1", "1.0", "1.00", "100",
    "1.2E-7", "0.000001", "1E-7", "0E-7", "-1.5E+30", "9" * 50, "1E+999999999999999999",
)  # fmt: skip
DATETIMES = (
    "1970-01-01T00:00:00.000000", "2031-03-30T02:30:00.000001+05:45", "2031-03-29T20:45:00.000001+00:00",
    "2031-01-01T00:00:00.000000", "0001-01-01T00:00:00.000000+14:00", "9999-12-31T23:59:59.999999-23:59",
    "1900-06-01T12:00:00.000000+00:19:32", "2031-10-26T02:30:00.000000",
)  # fmt: skip
TIMES = ("00:00:00.000000", "23:59:59.999999", "02:30:00.000000", "10:00:00.000000+01:00", "09:00:00.000000+00:00")
JSONS = (
    ("JSON of the documentation", '{"n": 9007199254740993, "s": "\u017elu\u0165", "a": [1, [2, null]], "f": 0.1}'),
    ("JSON: a text", '"Ann"'),
    ("JSON: truth is not 1", "[true, false, 1, 0]"),
    ("JSON: empty", '{"a": [], "b": {}, "": ""}'),
    ("JSON: names by code point, not by UTF-16", '{"\U00010000": 1, "\ue000": 2, "a": 3, "B": 4, "10": 5, "9": 6}'),
    ("JSON: what is escaped", '"\\u0000\\b\\t\\n\\f\\r\\u001f \\"\\\\/\\u007f\\u2028"'),
    ("JSON: a float that equals an integer", "[1.0, -0.0, 1e2, 123456789012345680000.0, 1e21, 1e22, 5e-324]"),
    ("JSON: other floats", "[0.1, 1e-6, 1e-7, -1.5e300, 123.456, 1.7976931348623157e308, 0.30000000000000004]"),
    ("JSON: an integer that no float holds", "[123456789012345678901234567890, -9223372036854775809]"),
    ("JSON: 200 levels", "[" * 200 + "]" * 200),
    ("JSON: an object in an array", '[{"b": 1, "a": {"d": null, "c": 2}}]'),
)
PADDED = (
    ("text", "str/1+pad16", text("Ann")),
    ("the empty text", "str/1+pad16", text("")),
    ("a whole block and its mark", "str/1+pad4", text("Anna")),
    ("one byte below a block", "str/1+pad4", text("Ann")),
    ("bytes that end as padding does", "bytes/1+pad8", octets(b"\x80\0\0")),
    ("a decimal", "decimal/1+pad32", {"decimal": "-0.500"}),
    ("any integer", "int/1+fix16", number(2**64)),
    ("JSON", "json/1+pad64", {"json": '{"a": 1.0}'}),
    ("a label", "enum/1+fix8", text("RED")),
    ("text in a fixed width", "str/1+fix256", text("Ann")),
    ("text that fills a fixed width", "str/1+fix4", text("Ann")),
)

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
    ("seventeen bytes", not_decoded("uuid/1", bytes(17))),
    ("true", encoded("bool/1", {"bool": True})),
    ("false", encoded("bool/1", {"bool": False})),
    ("one is an integer", not_encoded("bool/1", number(1))),
    ("another bit", not_decoded("bool/1", b"\2")),
    ("no byte", not_decoded("bool/1", b"")),
    ("two bytes", not_decoded("bool/1", b"\1\0")),
    ("any integer: zero is a byte", encoded("int/1", number(0))),
    ("127 fits one byte", encoded("int/1", number(127))),
    ("128 needs a byte for its sign", encoded("int/1", number(128))),
    ("-128 fits one byte", encoded("int/1", number(-128))),
    ("-129 does not", encoded("int/1", number(-129))),
    ("beyond 64 bits", encoded("int/1", number(2**63))),
    ("of 40 digits", encoded("int/1", number(-(10**39)))),
    ("a truth value is not an integer", not_encoded("int/1", {"bool": False})),
    ("no bytes", not_decoded("int/1", b"")),
    ("a byte too many for zero", not_decoded("int/1", bytes(2))),
    ("a byte too many for minus one", not_decoded("int/1", b"\xff\xff")),
    *((f"the decimal {t}", encoded("decimal/1", tagged("decimal", t))) for t in DECIMALS),
    *(
        (
            f"the decimal {t} is indexed as it is",
            {
                "codec": "decimal/1",
                "value": tagged("decimal", t),
                "storage": t.encode().hex(),
                "equality": t.encode().hex(),
            },
        )
        for t in ("Infinity", "-Infinity")
    ),
    *(
        (
            f"the decimal {t} is stored and not indexed",
            {"codec": "decimal/1", "value": tagged("decimal", t), "storage": t.encode().hex(), "equality": None},
        )
        for t in ("NaN", "-NaN", "NaN123")
    ),
    ("a signalling NaN", not_encoded("decimal/1", tagged("decimal", "sNaN"))),
    ("a float is not a decimal", not_encoded("decimal/1", real(0.5))),
    ("text is not a decimal", not_encoded("decimal/1", text("0.5"))),
    *(
        (f"{t!r} is not how a decimal is spelled", not_decoded("decimal/1", t.encode()))
        for t in (
            "",
            "+1",
            "01",
            ".5",
            "1.",
            " 1",
            "1 ",
            "1,5",
            "1_0",
            "1e+3",
            "1E3",
            "1E+03",
            "1E-3",
            "0.0000001",
            "100E-1",
            "0E+0",
            "sNaN",
            "NaN0",
            "inf",
            "--1",
            "\u0661",
            "1E+1000000000000000000",
            "1E-1000000000000000000",
        )
    ),
    ("not ASCII", not_decoded("decimal/1", b"\xff")),
    *(
        (f"the date {t}", encoded("date/1", tagged("date", t)))
        for t in ("1970-01-01", "0001-01-01", "9999-12-31", "1969-12-31", "2000-02-29")
    ),
    ("a date and time is not a date", not_encoded("date/1", tagged("datetime", "2031-01-01T00:00:00.000000"))),
    ("text is not a date", not_encoded("date/1", text("2031-01-01"))),
    ("three bytes", not_decoded("date/1", bytes(3))),
    ("five bytes", not_decoded("date/1", bytes(5))),
    ("the day before the year 1", not_decoded("date/1", struct.pack("<i", -719163))),
    ("the day after the year 9999", not_decoded("date/1", struct.pack("<i", 2932897))),
    *((f"the time {t}", encoded("datetime/1", tagged("datetime", t))) for t in DATETIMES),
    (
        "the second of two equal times, which equals the first",
        encoded("datetime/1", tagged("second datetime", "2031-10-26T02:30:00.000000")),
    ),
    ("a date is not a date and time", not_encoded("datetime/1", tagged("date", "2031-01-01"))),
    ("text is not a date and time", not_encoded("datetime/1", text("2031-01-01T00:00:00"))),
    *((f"the time {t}", encoded("time/1", tagged("time", t))) for t in TIMES),
    (
        "the second of two equal times, which equals the first",
        encoded("time/1", tagged("second time", "02:30:00.000000")),
    ),
    ("text is not a time", not_encoded("time/1", text("02:30"))),
    *(
        (f"{codec}: {comment}", not_decoded(codec, stored))
        for codec in ("datetime/1", "time/1")
        for comment, stored in (
            ("no bytes", b""),
            ("sixteen bytes", bytes(16)),
            ("eighteen bytes", bytes(18)),
            ("neither naive nor aware", b"\3" + bytes(16)),
            ("naive with an offset", bytes(9) + b"\1" + bytes(7)),
            ("an offset of a day", struct.pack("<Bqq", 2, 0, 86_400_000_000)),
            ("an offset of minus a day", struct.pack("<Bqq", 2, 0, -86_400_000_000)),
            ("before the first", struct.pack("<Bqq", 0, -1 if codec == "time/1" else -62_135_596_800_000_001, 0)),
            (
                "after the last",
                struct.pack("<Bqq", 0, 86_400_000_000 if codec == "time/1" else 253_402_300_800_000_000, 0),
            ),
        )
    ),
    ("a label", encoded("enum/1", text("RED"))),
    ("a label that is not ASCII", encoded("enum/1", text("r\u00f6d"))),
    ("an integer is no label", not_encoded("enum/1", number(1))),
    ("a label with a lone surrogate", not_encoded("enum/1", text("\ud83d"))),
    ("a label that is not UTF-8", not_decoded("enum/1", b"\xff")),
    *((comment, encoded("json/1", tagged("json", t))) for comment, t in JSONS),
    ("JSON: null is NULL", not_encoded("json/1", tagged("json", "null"))),
    ("JSON: NaN", not_encoded("json/1", tagged("json", "[NaN]"))),
    ("JSON: a number that is infinity as a float", not_encoded("json/1", tagged("json", "[1e999]"))),
    ("JSON: a lone surrogate", not_encoded("json/1", tagged("json", '["\\ud83d"]'))),
    ("JSON: a lone surrogate in a name", not_encoded("json/1", tagged("json", '{"\\ud83d":1}'))),
    ("JSON: 201 levels", not_encoded("json/1", tagged("json", "[" * 201 + "]" * 201))),
    ("JSON: an integer of 4,300 digits", encoded("json/1", tagged("json", "9" * 4300))),
    ("bytes are not JSON", not_encoded("json/1", octets(b"1"))),
    *(
        (f"JSON: {t!r:.40} is not the one spelling", not_decoded("json/1", t.encode()))
        for t in (
            "",
            "null",
            "[1, 2]",
            '{"b":1,"a":2}',
            '{"a":1,"a":1}',
            "01",
            "-0",
            "1.50",
            "1.0e0",
            "1E+22",
            "1e22",
            "1e+021",
            "10e-1",
            '"\\u0041"',
            '"\\/"',
            '"\\u000a"',
            '"\\u001F"',
            '"\\ud83d"',
            "NaN",
            "Infinity",
            "1e999",
            "[1,]",
            "[1",
            "'a'",
            "1 ",
            " 1",
            "[" * 201 + "]" * 201,
            "tru",
            '{"\U00010000":2,"\ue000":1}',
        )
    ),
    ("JSON: not UTF-8", not_decoded("json/1", b'"\xff"')),
    ("JSON: a byte order mark", not_decoded("json/1", b"\xef\xbb\xbf1")),
    *((f"{comment}, padded", encoded(codec, value)) for comment, codec, value in PADDED),
    ("too long for its fixed width", not_encoded("str/1+fix4", text("Anna"))),
    ("too long for its fixed width in bytes", not_encoded("str/1+fix4", text("\u00e9\u00e9"))),
    ("another type, padded", not_encoded("str/1+pad16", number(1))),
    *(
        (f"{codec}: {comment}", not_decoded(codec, stored))
        for codec in ("str/1+pad4", "str/1+fix4")
        for comment, stored in (
            ("no bytes", b""),
            ("no mark", b"Anna"),
            ("only zeros", bytes(4)),
            ("another mark", b"Ann\x81"),
            ("one byte less", b"An\x80"),
            ("one byte more", b"An\x80\0\0"),
            ("a block too many", b"An\x80\0" + bytes(4)),
            ("not UTF-8 within", b"\xff\x80\0\0"),
        )
    ),
    ("a block of zeros before the value's own", not_decoded("str/1+fix4", b"Annabel\x80")),
]


def normal(normaliser: str, value: str | dict[str, Any], normalised: str | None) -> dict[str, Any]:
    return {"normaliser": normaliser, "value": value, "normalised": normalised}


def not_normal(normaliser: str, value: str | dict[str, Any]) -> dict[str, Any]:
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
    ("an address", normal("email/1", " Ana.Maria@Mail.EXAMPLE. ", "ana.maria@mail.example")),
    ("an address, decomposed", normal("email/1", "jose\u0301@mail.example", "jos\u00e9@mail.example")),
    ("a full-width @", normal("email/1", "ann\uff20mail.example", "ann@mail.example")),
    ("dots and tags of a local part count", normal("email/1", "a.b+c@mail.example", "a.b+c@mail.example")),
    ("what becomes a blank by folding", normal("email/1", "\u00a8a@b", "\u0308a@b")),
    ("full stops and blanks at the end", normal("email/1", "a@b. .", "a@b")),
    ("no address", normal("email/1", " Unknown. ", "unknown.")),
    ("no text", normal("email/1", "", "")),
    ("unassigned in an address", not_normal("email/1", "a\u0378@b")),
    ("the domain", normal("domain/1", "Ann@Mail.EXAMPLE", "mail.example")),
    ("behind the last @", normal("domain/1", '"a@b"@c', "c")),
    ("no domain", normal("domain/1", "unknown", None)),
    ("an empty domain", normal("domain/1", "ann@.", None)),
    ("the last four digits", normal("last4/1", "4929 1111-2222 3333", "3333")),
    ("just four", normal("last4/1", "x1y2z34", "1234")),
    ("fewer than four", normal("last4/1", "123", None)),
    ("none", normal("last4/1", "unknown", None)),
    ("other digits", not_normal("last4/1", "1234\u0665")),
    ("the year of a date", normal("year/1", {"date": "2031-05-06"}, "2031")),
    ("the first year", normal("year/1", {"date": "0001-01-01"}, "0001")),
    ("the month of a date", normal("month/1", {"date": "2031-05-06"}, "2031-05")),
    ("the month of a naive time", normal("month/1", {"datetime": "2031-12-31T23:59:59.999999"}, "2031-12")),
    ("the year at UTC", normal("year/1", {"datetime": "2031-01-01T00:30:00.000000+01:00"}, "2030")),
    ("the month at UTC", normal("month/1", {"datetime": "2031-01-31T23:30:00.000000-01:00"}, "2031-02")),
    ("before the first year at UTC", not_normal("year/1", {"datetime": "0001-01-01T00:30:00.000000+01:00"})),
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


def error_of_a_flip(at: int) -> str:
    if at == 0:
        return "NotSealedError"
    if at == 1:
        return "UnknownGenerationError"
    return "UnknownKeyError" if at < 6 else "CannotOpenError"


SEALED_VALUE: list[Case] = [
    sealed("text", field(), text("Ann")),
    sealed("the empty text", field(), text("")),
    sealed("text that is not ASCII, with NUL", field(), text("zo\u00eb\0\U0001f600")),
    sealed("a sealed value's own bytes are a value", field("bytes/1"), octets(NAME)),
    sealed("an integer", field("int64/1"), number(-42)),
    sealed("a float", field("float64/1"), real(-0.0)),
    sealed("a UUID", field("uuid/1"), {"uuid": UUID_TEXT}),
    sealed("a truth value", field("bool/1"), {"bool": False}),
    sealed("an integer of any size", field("int/1"), number(10**40)),
    sealed("a decimal", field("decimal/1"), {"decimal": "-0.00"}),
    sealed("a date", field("date/1"), {"date": "0001-01-01"}),
    sealed("a date and time", field("datetime/1"), {"datetime": "2031-03-30T02:30:00.000001+05:45"}),
    sealed("a time", field("time/1"), {"time": "23:59:59.999999"}),
    sealed("a label", field("enum/1"), text("RED")),
    sealed("a JSON value", field("json/1"), {"json": '{"a":[1,[2,null]],"f":0.1,"n":9007199254740993}'}),
    sealed("padded to multiples of 64 bytes", field("str/1+pad64"), text("Ann")),
    sealed("padded to 32 bytes", field("decimal/1+fix32"), {"decimal": "1.50"}),
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
    *(
        refused(f"a flipped bit in byte {at}", error_of_a_flip(at), flipped(NAME, at, 1 << at % 8))
        for at in range(len(NAME))
    ),
    refused(
        "the same, padded otherwise", "CannotOpenError", seal(field("str/1+pad16"), text("Ann")), field("str/1+pad64")
    ),
    refused("padded, read as not padded", "CannotOpenError", seal(field("str/1+pad16"), text("Ann")), field("str/1")),
    refused("not padded, read as padded", "CannotOpenError", NAME, field("str/1+pad16")),
    *(
        refused(f"authentic, but not {codec}", "CannotOpenError", seal(field(codec), {}, raw=raw), field(codec))
        for codec, raw in (
            ("str/1", b"\xff"),
            ("int64/1", bytes(7)),
            ("float64/1", bytes(9)),
            ("uuid/1", bytes(15)),
            ("bool/1", b"\2"),
            ("int/1", b""),
            ("decimal/1", b"1,5"),
            ("date/1", bytes(5)),
            ("datetime/1", b"\3" + bytes(16)),
            ("time/1", bytes(16)),
            ("enum/1", b"\xff"),
            ("json/1", b"[1, 2]"),
            ("str/1+pad16", b"Ann"),
            ("str/1+fix16", b"Ann\x80" + bytes(28)),
        )
    ),
]


def stretched(key: bytes, encoding: bytes, slow: dict[str, int] | None) -> bytes:
    """argon2id of the encoding, under a salt that the index's key gives; the encoding itself where nothing is slow."""
    if slow is None:
        return encoding
    salt = hmac.digest(key, lp(b"noisevault/1 slow index"), "sha256")[:16]
    cost = {"memory_cost": slow["memory_kib"], "iterations": slow["iterations"], "lanes": slow["lanes"]}
    return Argon2id(salt=salt, length=32, **cost).derive(encoding)


def with_slow(slow: dict[str, int] | None) -> dict[str, Any]:
    return {} if slow is None else {"slow": slow}


SLOW = {"iterations": 1, "lanes": 1, "memory_kib": 7168}


def indexed(
    comment: str,
    normaliser: str,
    value: dict[str, Any],
    normalised: dict[str, Any] | None,
    *,
    bits: int = 256,
    codec: str = "str/1",
    generation: int = 0,
    column: str = "email",
    index: str = "bidx",
    table: str = "patients",
    slow: dict[str, int] | None = None,
) -> Case:
    """normalised: None where a partial normaliser finds no part. What a normaliser gives but exact/1 is text."""
    of = codec if normaliser == "exact/1" else "str/1"
    mac_input = None if normalised is None else equality(of, normalised)
    key = derived(KEY, b"noisevault/1 index", table, column, index)
    prefix = bytes((generation,)) + KEY_ID
    term = None
    if mac_input is not None:
        term = (prefix + leftmost(hmac.digest(key, stretched(key, mac_input, slow), "sha256"), bits)).hex()
    return comment, {
        "kind": "index",
        "keyring": KEYRING.hex(),
        "index_key": KEY.hex(),
        "key_id": KEY_ID.hex(),
        "field": field(codec, table=table, column=column, generation=generation),
        "index": {"name": index, "normaliser": normaliser, "bits": bits, **with_slow(slow)},
        "value": value,
        "equality": None if mac_input is None else mac_input.hex(),
        "term": term,
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


def shared(comment: str, scope: str, value: str, bits: int = 256, slow: dict[str, int] | None = None) -> Case:
    key = derived(KEY, b"noisevault/1 shared index", scope)
    term = b"\0" + KEY_ID + leftmost(hmac.digest(key, stretched(key, value.encode(), slow), "sha256"), bits)
    return comment, {
        "kind": "shared",
        "keyring": KEYRING.hex(),
        "index_key": KEY.hex(),
        "key_id": KEY_ID.hex(),
        "scope": scope,
        "bits": bits,
        **with_slow(slow),
        "equality": value.encode().hex(),
        "term": term.hex(),
    }


def compound(comment: str, parts: list[bytes | None], bits: int = 256, slow: dict[str, int] | None = None) -> Case:
    key = derived(KEY, b"noisevault/1 compound index", "patients", "name_and_birth")
    known = [part for part in parts if part is not None]
    mac_input = b"".join(lp(part) for part in known) if len(known) == len(parts) else None
    term = None
    if mac_input is not None:
        term = b"\0" + KEY_ID + leftmost(hmac.digest(key, stretched(key, mac_input, slow), "sha256"), bits)
    return comment, {
        "kind": "compound",
        "keyring": KEYRING.hex(),
        "index_key": KEY.hex(),
        "key_id": KEY_ID.hex(),
        "table": "patients",
        "index": "name_and_birth",
        "bits": bits,
        **with_slow(slow),
        "parts": [None if part is None else part.hex() for part in parts],
        "input": None if mac_input is None else mac_input.hex(),
        "term": None if term is None else term.hex(),
    }


def mismatched(comment: str, of: Case, **changes: Any) -> Case:
    """A term that is not the one of its value, or was made for another place. changes: members to replace."""
    case = of[1] | {"error": "TermMismatch"}
    for name, change in changes.items():
        case[name] = case[name] | change if name in ("field", "index") and isinstance(change, dict) else change
    return comment, case


def mismatches(comment: str, of: Case) -> list[Case]:
    """What is refused of every kind of index: another key, keyring or key id, another length, a flipped bit."""
    term = bytes.fromhex(of[1]["term"])
    return [
        mismatched(f"{comment}: another index key", of, index_key=OTHER_KEY.hex()),
        mismatched(f"{comment}: another keyring", of, keyring=bytes(15).hex() + "01"),
        mismatched(f"{comment}: another key id", of, key_id=OTHER_ID.hex()),
        mismatched(f"{comment}: one byte less", of, term=term[:-1].hex()),
        mismatched(f"{comment}: one byte more", of, term=(term + b"\0").hex()),
        mismatched(f"{comment}: no bytes", of, term=""),
        *(
            mismatched(f"{comment}: a flipped bit in byte {at}", of, term=flipped(term, at, 1 << at % 8).hex())
            for at in range(len(term))
        ),
    ]


ONE = indexed("", "exact/1", text("Ann"), text("Ann"))
TWENTY_BITS = indexed("", "exact/1", text("Ann"), text("Ann"), bits=20)
SHARED = shared("", "person", "123456789")
COMPOUND = compound("", [b"Ann", b"2031-01-01"])

SLOWLY = indexed("", "exact/1", text("1234"), text("1234"), slow=SLOW)
DOMAIN = indexed("", "domain/1", text("ann@mail.example"), text("mail.example"), index="at")
YEAR = (
    datetime.fromisoformat(DATETIMES[2]) - (datetime.fromisoformat(DATETIMES[2]).utcoffset() or timedelta())
).strftime("%Y")

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
    indexed("a truth value", "exact/1", {"bool": True}, {"bool": True}, codec="bool/1"),
    indexed("an integer of any size", "exact/1", number(10**40), number(10**40), codec="int/1"),
    *(
        indexed(
            f"the decimal {t} has the term of 1.5", "exact/1", {"decimal": t}, {"decimal": "1.5"}, codec="decimal/1"
        )
        for t in ("1.5", "1.50", "1.500")
    ),
    indexed("a date", "exact/1", {"date": "2031-01-01"}, {"date": "2031-01-01"}, codec="date/1"),
    *(
        indexed("the same instant", "exact/1", {"datetime": t}, {"datetime": DATETIMES[2]}, codec="datetime/1")
        for t in DATETIMES[1:3]
    ),
    indexed("a naive time", "exact/1", {"datetime": DATETIMES[3]}, {"datetime": DATETIMES[3]}, codec="datetime/1"),
    *(indexed("a time of day", "exact/1", {"time": t}, {"time": TIMES[4]}, codec="time/1") for t in TIMES[3:]),
    indexed("a label", "exact/1", text("RED"), text("RED"), codec="enum/1"),
    *(
        indexed("equal JSON values", "exact/1", {"json": t}, {"json": '{"a":[1],"b":2}'}, codec="json/1")
        for t in ('{"a": [1], "b": 2}', '{"b": 2.0, "a": [1.0]}')
    ),
    indexed("padding is not part of it", "exact/1", text("Ann"), text("Ann"), codec="str/1+pad64"),
    indexed("nor for a normaliser", "casefold/1", text("ANN"), text("ann"), codec="str/1+fix64"),
    indexed("nor does its width bound what is asked", "casefold/1", text("ANNA"), text("anna"), codec="str/1+fix4"),
    not_indexed("a decimal NaN", "decimal/1", "exact/1", {"decimal": "NaN"}),
    not_indexed("an integer in an index of truth values", "bool/1", "exact/1", number(1)),
    indexed("an address", "email/1", text(" Ann@Mail.EXAMPLE. "), text("ann@mail.example")),
    indexed("its domain", "domain/1", text("Ann@Mail.EXAMPLE"), text("mail.example"), index="at"),
    indexed("no domain", "domain/1", text("unknown"), None, index="at"),
    indexed("the last four digits", "last4/1", text("123-45-6789"), text("6789"), index="last4"),
    indexed("fewer than four", "last4/1", text("678"), None, index="last4"),
    indexed("a year is text", "year/1", {"date": "2031-05-06"}, text("2031"), codec="date/1"),
    indexed("a month, 8 bits", "month/1", {"date": "2031-05-06"}, text("2031-05"), codec="date/1", bits=8),
    indexed("the year of an instant", "year/1", {"datetime": DATETIMES[2]}, text(YEAR), codec="datetime/1"),
    indexed("slow", "exact/1", text("1234"), text("1234"), slow=SLOW),
    indexed(
        "slow, 20 bits, more passes", "digits/1", text("12 34"), text("1234"), slow={**SLOW, "iterations": 2}, bits=20
    ),
    indexed("slow, the empty text", "exact/1", text(""), text(""), slow=SLOW),
    shared("shared, 12 bits", "person", "123456789", bits=12),
    shared("shared and slow", "person", "123456789", slow=SLOW),
    compound("two parts, 12 bits", [b"Ann", b"2031-01-01"], bits=12),
    compound("two parts, slow", [b"Ann", b"2031-01-01"], slow=SLOW),
    mismatched("slow and not", SLOWLY, index={"slow": {**SLOW, "iterations": 2}}),
    mismatched("another part", DOMAIN, value=text("ann@mail.other"), equality=None),
    mismatched("another column", ONE, field={"column": "alias"}),
    mismatched("another table", ONE, field={"table": "doctors"}),
    mismatched("another generation", ONE, field={"generation": 1}),
    mismatched("another index of the field", ONE, index={"name": "whole"}),
    mismatched("another codec", ONE, field={"codec": "int64/1"}, value=number(0x6E6E41), equality=None),
    mismatched("another value", ONE, value=text("Anna"), equality=None),
    mismatched("more bits", ONE, index={"bits": 20}),
    mismatched("fewer bits", TWENTY_BITS, index={"bits": 256}),
    *mismatches("of a field", ONE),
    *mismatches("20 bits", TWENTY_BITS),
    mismatched("another scope", SHARED, scope="animal"),
    *mismatches("shared", SHARED),
    mismatched("another index over columns", COMPOUND, index="name_and_city"),
    mismatched("an index over columns of another table", COMPOUND, table="doctors"),
    mismatched("the parts exchanged", COMPOUND, parts=COMPOUND[1]["parts"][::-1], input=None),
    *mismatches("over columns", COMPOUND),
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
    *(
        (
            f"the codec {codec}",
            defined(
                f'{{"bound":[],"codec":"{codec}","column":"name","format":"noisevault/1 field","generation":0,'
                f'"indexes":[{{"bits":256,"name":"bidx","normaliser":"{normaliser}"}}],"table":"patients"}}'
            ),
        )
        for codec, normaliser in (
            ("bool/1", "exact/1"),
            ("int/1", "exact/1"),
            ("decimal/1", "exact/1"),
            ("date/1", "exact/1"),
            ("datetime/1", "exact/1"),
            ("time/1", "exact/1"),
            ("enum/1", "exact/1"),
            ("json/1", "exact/1"),
            ("str/1+pad64", "digits/1"),
            ("str/1+fix256", "casefold/1"),
            ("json/1+pad1048576", "exact/1"),
        )
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
    *(
        (
            comment,
            {
                "canonical_json": f'{{"bound":[],"codec":"{codec}","column":"name","format":"noisevault/1 field",'
                f'"generation":0,"indexes":[{{"bits":256,"name":"bidx","normaliser":"{normaliser}"}}],'
                '"table":"patients"}',
                "error": "DefinitionError",
            },
        )
        for comment, codec, normaliser in (
            ("a padding with a leading zero", "str/1+pad064", "exact/1"),
            ("a padding of one byte", "str/1+pad1", "exact/1"),
            ("a padding that is too large", "str/1+pad1048577", "exact/1"),
            ("a padding that is not known", "str/1+round64", "exact/1"),
            ("two paddings", "str/1+pad64+pad64", "exact/1"),
            ("padding where all lengths are one", "int64/1+pad64", "exact/1"),
            ("a normaliser of texts for numbers", "decimal/1", "digits/1"),
            ("a normaliser of texts for labels", "enum/1", "casefold/1"),
        )
    ),
]

DEFINITION += [
    (
        "every member of an index",
        defined(
            '{"bound":[],"codec":"str/1","column":"email","format":"noisevault/1 field","generation":0,"indexes":['
            '{"bits":256,"name":"bidx","normaliser":"email/1","scope":"who"},'
            '{"bits":20,"name":"rough","normaliser":"phone-gb/9.0.43","slow":'
            '{"iterations":2,"lanes":1,"memory_kib":19456}},'
            '{"bits":256,"name":"at","normaliser":"domain/1"},{"bits":256,"name":"last4","normaliser":"last4/1"}],'
            '"table":"patients"}'
        ),
    ),
    *(
        (
            f"{normaliser} of {codec}",
            defined(
                f'{{"bound":[],"codec":"{codec}","column":"born","format":"noisevault/1 field","generation":0,'
                f'"indexes":[{{"bits":256,"name":"bidx","normaliser":"{normaliser}"}}],"table":"patients"}}'
            ),
        )
        for normaliser, codec in (("year/1", "date/1"), ("month/1", "datetime/1"))
    ),
    *(
        (
            comment,
            {
                "canonical_json": '{"bound":[],"codec":"str/1","column":"email","format":"noisevault/1 field",'
                f'"generation":0,"indexes":[{index}],"table":"patients"}}',
                "error": "DefinitionError",
            },
        )
        for comment, index in (
            ("a normaliser that is not known", '{"bits":256,"name":"bidx","normaliser":"email/9"}'),
            ("a year of texts", '{"bits":256,"name":"bidx","normaliser":"year/1"}'),
            ("no bits", '{"bits":0,"name":"bidx","normaliser":"exact/1"}'),
            ("more bits than there are", '{"bits":257,"name":"bidx","normaliser":"exact/1"}'),
            ("a member of an index too many", '{"bits":8,"extra":1,"name":"bidx","normaliser":"exact/1"}'),
            ("a scope that is said to be none", '{"bits":8,"name":"bidx","normaliser":"exact/1","scope":null}'),
            ("a scope without a name", '{"bits":8,"name":"bidx","normaliser":"exact/1","scope":""}'),
            ("a scope with a dot", '{"bits":8,"name":"bidx","normaliser":"exact/1","scope":"a.b"}'),
            ("slow that is said to be none", '{"bits":8,"name":"bidx","normaliser":"exact/1","slow":null}'),
            *(
                (f"slow with {what}", f'{{"bits":8,"name":"bidx","normaliser":"exact/1","slow":{slow}}}')
                for what, slow in (
                    ("too little memory", '{"iterations":2,"lanes":1,"memory_kib":7167}'),
                    ("too much memory", '{"iterations":1,"lanes":1,"memory_kib":1048577}'),
                    ("too much work", '{"iterations":5,"lanes":1,"memory_kib":1048576}'),
                    ("too many lanes", '{"iterations":2,"lanes":17,"memory_kib":19456}'),
                    ("no passes", '{"iterations":0,"lanes":1,"memory_kib":19456}'),
                    ("a member too few", '{"iterations":2,"memory_kib":19456}'),
                    ("a member too many", '{"extra":1,"iterations":2,"lanes":1,"memory_kib":19456}'),
                )
            ),
        )
    ),
]

DEFINITION += [
    (
        "indexes that live in another keyring, beside one that is shared",
        defined(
            '{"bound":[],"codec":"str/1","column":"email","format":"noisevault/1 field","generation":0,"indexes":['
            '{"bits":256,"name":"bidx","normaliser":"email/1","scope":"who"},'
            '{"bits":256,"keyring":"look-ups","name":"all","normaliser":"casefold/1"},'
            '{"bits":20,"keyring":"look-ups","name":"rough","normaliser":"domain/1","slow":'
            '{"iterations":2,"lanes":1,"memory_kib":19456}}],'
            '"table":"patients"}'
        ),
    ),
    *(
        (
            comment,
            {
                "canonical_json": '{"bound":[],"codec":"str/1","column":"email","format":"noisevault/1 field",'
                f'"generation":0,"indexes":[{index}],"table":"patients"}}',
                "error": "DefinitionError",
            },
        )
        for comment, index in (
            ("a keyring that is said to be none", '{"bits":8,"keyring":null,"name":"bidx","normaliser":"exact/1"}'),
            ("a keyring without a name", '{"bits":8,"keyring":"","name":"bidx","normaliser":"exact/1"}'),
            (
                "an index that is shared and lives in another keyring",
                '{"bits":256,"keyring":"look-ups","name":"bidx","normaliser":"exact/1","scope":"who"}',
            ),
        )
    ),
]

COMPOUND_JSON = (
    '{{"bits":256,"format":"noisevault/1 compound index","generation":0,"name":"{name}","parts":[{parts}],'
    '"table":"clinic.patients"}}'
)
NAME_PART = '{"codec":"str/1","column":"name","normaliser":"casefold/1"}'
DOTTED_PART = NAME_PART.replace('"name"', '"na.me"')
BORN_PART = '{"codec":"date/1","column":"born","normaliser":"exact/1"}'


def over(parts: str, name: str = "whole") -> str:
    return COMPOUND_JSON.format(name=name, parts=parts)


def alike(
    codec: str = "str/1", normaliser: str = "email/1", scope: str = "who", bits: int = 256, generation: int = 0
) -> str:
    return (
        f'{{"bits":{bits},"codec":"{codec}","format":"noisevault/1 shared index","generation":{generation},'
        f'"normaliser":"{normaliser}","scope":"{scope}"}}'
    )


def undefined(text_of_it: str) -> dict[str, Any]:
    return {"canonical_json": text_of_it, "error": "DefinitionError"}


INDEX_DEFINITION: list[Case] = [
    ("shared", defined(alike())),
    ("shared, of numbers, truncated", defined(alike("int64/1", "exact/1", bits=12, generation=3))),
    ("over two columns", defined(over(f"{NAME_PART},{BORN_PART}"))),
    (
        "over two columns, truncated and slow",
        defined(
            over(f"{NAME_PART},{BORN_PART}")
            .replace("256", "16")
            .replace('],"table', '],"slow":{"iterations":2,"lanes":1,"memory_kib":19456},"table')
        ),
    ),
    ("by a part of one", defined(over(f"{NAME_PART},{BORN_PART.replace('exact/1', 'year/1')}"))),
    ("not JSON", undefined("{")),
    ("another format", undefined(alike().replace("shared index", "index"))),
    ("a scope without a name", undefined(alike(scope=""))),
    ("a scope with a dot", undefined(alike(scope="a.b"))),
    ("a codec with padding", undefined(alike("str/1+pad64"))),
    ("a normaliser of texts for numbers", undefined(alike("int64/1", "digits/1"))),
    ("no bits", undefined(alike(bits=0))),
    ("a generation too high", undefined(alike(generation=256))),
    ("blanks", undefined(alike().replace(":256", ": 256"))),
    ("over one column", undefined(over(NAME_PART))),
    ("over one column twice", undefined(over(f"{NAME_PART},{NAME_PART}"))),
    ("over a padded codec", undefined(over(f"{NAME_PART.replace('str/1', 'str/1+pad64')},{BORN_PART}"))),
    ("over a column with a dot", undefined(over(f"{DOTTED_PART},{BORN_PART}"))),
    ("without a name", undefined(over(f"{NAME_PART},{BORN_PART}", ""))),
    ("a part with a member too many", undefined(over(f'{NAME_PART[:-1]},"x":1}},{BORN_PART}'))),
    ("a casefolded date", undefined(over(f"{NAME_PART},{BORN_PART.replace('exact/1', 'casefold/1')}"))),
]

# Phone numbers. What each becomes was written by hand from the numbering plans; the library's version decides which
# lengths are possible. Numbers are those that regulators keep free of subscribers, where there are such.
PHONE_METADATA = "9.0.43"
LONDON = "+442079460018"  # Ofcom: 020 7946 0000 to 0999 are for drama use


def dialled(region: str, spelling: str, normalised: str) -> dict[str, Any]:
    """A number, and the term of what it becomes."""
    normaliser = f"phone-{region}/{PHONE_METADATA}"
    _, case = indexed("", normaliser, text(spelling), text(normalised), column="phone")
    return case | {"normalised": normalised}


def not_dialled(normaliser: str, error: str, spelling: str = "020 7946 0018") -> dict[str, Any]:
    _, case = not_indexed("", "str/1", normaliser, text(spelling))
    return case | {"field": field(column="phone"), "error": error}


def another_number(spelling: str) -> dict[str, Any]:
    """It has not the term of the number in London."""
    case = dialled("gb", "020 7946 0018", LONDON)
    return case | {"value": text(spelling), "equality": None, "normalised": None, "error": "TermMismatch"}


PHONE: list[Case] = [
    ("international, as E.123 has it", dialled("gb", "+44 20 7946 0018", LONDON)),
    ("national", dialled("gb", "020 7946 0018", LONDON)),
    ("national with signs", dialled("gb", "(020) 7946-0018", LONDON)),
    ("the trunk prefix in brackets", dialled("gb", "+44 (0)20 7946 0018", LONDON)),
    ("as it is dialled from abroad", dialled("gb", "0044 20 7946 0018", LONDON)),
    ("its own E.164 form", dialled("gb", LONDON, LONDON)),
    ("full-width digits", dialled("gb", "\uff0b\uff14\uff14 \uff12\uff10 7946 0018", LONDON)),
    (
        "Arabic-Indic digits",
        dialled("gb", "\u0660\u0662\u0660 \u0667\u0669\u0664\u0666 \u0660\u0660\u0661\u0668", LONDON),
    ),
    ("words before the number are dropped", dialled("gb", "at work: 020 7946 0018", LONDON)),
    ("RFC 3966", dialled("gb", "tel:+44-20-7946-0018", LONDON)),
    ("RFC 3966 with an extension", dialled("gb", "tel:+44-20-7946-0018;ext=7", f"{LONDON};ext=7")),
    ("an extension", dialled("gb", "020 7946 0018 ext. 7", f"{LONDON};ext=7")),
    ("an extension, shorter", dialled("gb", "020 7946 0018 x7", f"{LONDON};ext=7")),
    ("an international one in another region", dialled("fr", "+44 20 7946 0018", LONDON)),
    ("from North America", dialled("us", "011 44 20 7946 0018", LONDON)),
    ("without a region", dialled("zz", "+44 20 7946 0018", LONDON)),
    ("North America", dialled("us", "(202) 555-0123", "+12025550123")),  # NANPA: 555-0100 to 0199 are fictitious
    ("North America with its prefix", dialled("us", "1-202-555-0123", "+12025550123")),
    ("letters of the keypad, E.161", dialled("us", "202-JKL-0123", "+12025550123")),
    ("France", dialled("fr", "01 99 00 12 34", "+33199001234")),  # ARCEP: 01 99 00 is for fiction
    ("Germany", dialled("de", "030 23125 123", "+493023125123")),  # BNetzA: (0)30 23125 000 to 999 are for media
    ("Italy, whose zero is part of the number", dialled("it", "06 0000 0123", "+390600000123")),
    ("Italy without it is another number", dialled("it", "+39 6 0000 0123", "+39600000123")),
    ("freephone of no country", dialled("zz", "+800 0000 0123", "+80000000123")),
    ("too short", dialled("gb", "1234", "text:1234")),
    ("too short, with blanks at both ends", dialled("gb", "  1234\u3000", "text:1234")),
    ("one digit too many", dialled("gb", "+44 20 7946 0018 0", "text:+44 20 7946 0018 0")),
    ("local, without its area", dialled("us", "555-0123", "text:555-0123")),
    ("a country code that is not assigned", dialled("gb", "+999 123 4567", "text:+999 123 4567")),
    ("national, without a region", dialled("zz", "020 7946 0018", "text:020 7946 0018")),
    ("from abroad, without a region", dialled("zz", "00442079460018", "text:00442079460018")),
    ("two numbers", dialled("gb", "020 7946 0018, 020 7946 0019", "text:020 7946 0018, 020 7946 0019")),
    ("no number", dialled("gb", "unknown", "text:unknown")),
    ("no text", dialled("gb", "", "text:")),
    ("what another text becomes", dialled("gb", "text:1234", "text:text:1234")),
    ("the next number", another_number("020 7946 0019")),
    ("a part of the number", another_number("1234")),
    ("an extension counts", another_number("020 7946 0018 ext. 7")),
    ("the same digits in another country", another_number("+33 20 7946 0018")),
    ("no text is no number", another_number("")),
    ("a lone surrogate", not_dialled(f"phone-gb/{PHONE_METADATA}", "InvalidValueError", "020 7946 0018\ud83d")),
    *(
        (comment, not_dialled(normaliser, "DefinitionError"))
        for comment, normaliser in (
            ("a region in capitals", f"phone-GB/{PHONE_METADATA}"),
            ("a region of three letters", f"phone-gbr/{PHONE_METADATA}"),
            ("no region", f"phone/{PHONE_METADATA}"),
            ("no version", "phone-gb/"),
            ("a version without a dot", "phone-gb/9"),
            ("a version with letters", "phone-gb/9.0.43rc1"),
        )
    ),
]

FILES = {
    "codec": (CODEC, "RFC 3629, IEEE 754, RFC 9562, RFC 8785, ECMA-262 and ISO/IEC 7816-4"),
    "normaliser": (NORMALISER, "The Unicode Standard 14.0, section 3.13 (D146) and its White_Space property"),
    "row_context": (ROW_CONTEXT, "docs/formats.md"),
    "sealed_value": (SEALED_VALUE, "NIST SP 800-38D and RFC 5869"),
    "term": (TERM, "RFC 2104, RFC 5869 and RFC 9106"),
    "definition": (DEFINITION, "RFC 8785 and FIPS 180-4"),
    "index_definition": (INDEX_DEFINITION, "RFC 8785 and FIPS 180-4"),
    "phone": (
        PHONE,
        "ITU-T E.164, E.123, E.161, RFC 3966, RFC 5869 and the plans of Ofcom, NANPA, ARCEP, BNetzA and AGCOM",
    ),
}


def main() -> None:
    for name, (cases, source) in FILES.items():
        content = {"format": f"noisevault/1 {name}", "source": SOURCE.format(source), "tests": numbered(cases)}
        path = Path(__file__).parent / f"{name}.json"
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
