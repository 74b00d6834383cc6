// Reads the published vectors with node:crypto alone: a second reader of the stored forms, which shares no code
// with the vault and follows docs/formats.md. Usage: node verify_vectors.mjs DIRECTORY. Prints the number of
// tests of each file as JSON; the first that fails is an error. Key files and slow terms under argon2id are read by Node 24.7 or later;
// an earlier one has no argon2 in node:crypto, and the tests that it leaves out are counted as "not read".

import assert from "node:assert/strict";
import * as crypto from "node:crypto";
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, scryptSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

class Refusal extends Error {
  constructor(name) {
    super(name);
    this.name = name;
  }
}

const hex = (text) => Buffer.from(text, "hex");

// Framing and keys.

function lp(part) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return Buffer.concat([length, part]);
}

const framed = (...parts) => Buffer.concat(parts.map((part) => lp(Buffer.from(part))));

function derive(key, keyring, label, ...names) {
  const info = framed(label, keyring, ...names);
  return Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), info, 32));
}

// Codecs. A value is tagged with its kind, as { decimal: "1.50" }.

const refuse = (name) => {
  throw new Refusal(name);
};

const utf8 = (stored) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(stored);

function text(content) {
  if (typeof content !== "string" || !content.isWellFormed()) refuse("InvalidValueError");
  return Buffer.from(content, "utf8");
}

// Two's complement, little-endian.

function fixedInteger(number, bytes) {
  let rest = BigInt.asUintN(8 * bytes, number);
  const stored = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += 1, rest >>= 8n) stored[at] = Number(rest & 0xffn);
  return stored;
}

function integerOf(stored) {
  const unsigned = stored.length ? BigInt(`0x${Buffer.from(stored).reverse().toString("hex")}`) : 0n;
  return BigInt.asIntN(8 * stored.length, unsigned);
}

function shortestInteger(number) {
  let bytes = 1;
  while (BigInt.asIntN(8 * bytes, number) !== number) bytes += 1;
  return fixedInteger(number, bytes);
}

// Decimals: what the General Decimal Arithmetic Specification calls to-scientific-string.

const FARTHEST = 999_999_999_999_999_999n;

function decimalParts(content) {
  const found = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:E([+-][0-9]+))?$/.exec(content);
  if (!found) return undefined;
  const [, sign, whole, part = "", exponent = "+0"] = found;
  const digits = (whole + part).replace(/^0+(?=[0-9])/, "");
  return { sign, digits, exponent: BigInt(exponent.replace("+", "")) - BigInt(part.length) };
}

function spellDecimal({ sign, digits, exponent }) {
  const adjusted = exponent + BigInt(digits.length - 1);
  if (exponent <= 0n && adjusted >= -6n) {
    const places = Number(-exponent);
    const padded = digits.padStart(places + 1, "0");
    return sign + padded.slice(0, padded.length - places) + (places ? `.${padded.slice(-places)}` : "");
  }
  const power = adjusted < 0n ? `E${adjusted}` : `E+${adjusted}`;
  return sign + digits[0] + (digits.length > 1 ? `.${digits.slice(1)}` : "") + power;
}

function isDecimal(content) {
  if (/^-?(Infinity|NaN([1-9][0-9]*)?)$/.test(content)) return true;
  const parts = decimalParts(content);
  if (!parts || spellDecimal(parts) !== content) return false;
  const adjusted = parts.exponent + BigInt(parts.digits.length - 1);
  return adjusted <= FARTHEST && adjusted >= -FARTHEST;
}

function decimalEquality(content) {
  if (content.includes("NaN")) refuse("InvalidValueError");
  if (content.includes("Infinity")) return Buffer.from(content);
  const { sign, digits, exponent } = decimalParts(content);
  const kept = digits.replace(/0+$/, "");
  if (!kept) return Buffer.from("0");
  return Buffer.from(`${sign}${kept}E${exponent + BigInt(digits.length - kept.length)}`);
}

// Dates and times. Days are counted by the proleptic Gregorian calendar.

const DAY = 86_400_000_000n;
const LAST_DAY = 2_932_896;
const FIRST_DAY = -719_162;

function dayOf(isoDate) {
  const [year, month, day] = isoDate.split("-").map(Number);
  return new Date(0).setUTCFullYear(year, month - 1, day) / 86_400_000;
}

const isoDate = (day) => {
  const shown = new Date(Number(day) * 86_400_000);
  const [year, month, date] = [shown.getUTCFullYear(), shown.getUTCMonth() + 1, shown.getUTCDate()];
  return `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${String(date).padStart(2, "0")}`;
};

const isoTime = (microseconds, withFraction = true) => {
  const seconds = microseconds / 1_000_000n;
  const two = (number) => String(number).padStart(2, "0");
  const fraction = withFraction ? `.${String(microseconds % 1_000_000n).padStart(6, "0")}` : "";
  return `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}${fraction}`;
};

function isoOffset(offset) {
  const size = offset < 0n ? -offset : offset;
  const shown = isoTime(size, size % 1_000_000n !== 0n);
  return (offset < 0n ? "-" : "+") + (size % 60_000_000n ? shown : shown.slice(0, 5));
}

function microsecondsOf(isoTime) {
  const [hours, minutes, seconds = "0"] = isoTime.split(":");
  const [whole, fraction = ""] = seconds.split(".");
  return ((BigInt(hours) * 60n + BigInt(minutes)) * 60n + BigInt(whole)) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
}

function clockOf(kind, content) {
  const [, date, shown, sign, offset] = /^(?:(.{10})T)?([0-9:.]+)(?:([+-])([0-9:.]+))?$/.exec(content);
  const microseconds = microsecondsOf(shown) + (date ? BigInt(dayOf(date)) * DAY : 0n);
  if (!sign) return { kind: kind.startsWith("second") ? 1 : 0, shown: microseconds, offset: 0n };
  return { kind: 2, shown: microseconds, offset: microsecondsOf(offset) * (sign === "-" ? -1n : 1n) };
}

const clockBytes = ({ kind, shown, offset }) =>
  Buffer.concat([Buffer.from([kind]), fixedInteger(shown, 8), fixedInteger(offset, 8)]);

function decodeClock(stored, name, first, last, spell) {
  if (stored.length !== 17) refuse("ValueError");
  const [kind, shown, offset] = [stored[0], stored.readBigInt64LE(1), stored.readBigInt64LE(9)];
  if (kind > 2 || (kind < 2 && offset) || offset <= -DAY || offset >= DAY) refuse("ValueError");
  if (shown < first || shown > last) refuse("ValueError");
  return { [kind === 1 ? `second ${name}` : name]: spell(shown) + (kind === 2 ? isoOffset(offset) : "") };
}

function spellMoment(shown) {
  const time = ((shown % DAY) + DAY) % DAY;
  return `${isoDate((shown - time) / DAY)}T${isoTime(time)}`;
}

// JSON: numbers keep their own digits, so that an integer of any size and a float are told apart.

class JsonNumber {
  constructor(source) {
    this.source = source;
  }
}

const parseJson = (content) =>
  JSON.parse(content, (_, value, { source }) => (typeof value === "number" ? new JsonNumber(source) : value));

function spellNumber({ source }, numeric) {
  if (/^-?[0-9]+$/.test(source)) {
    if (source.replace("-", "").length > 4300) refuse("InvalidValueError");
    return BigInt(source).toString();
  }
  const number = Number(source);
  if (!Number.isFinite(number)) refuse("InvalidValueError");
  if (numeric && Number.isInteger(number)) return BigInt(number).toString();
  const spelled = Object.is(number, -0) ? "-0" : String(number);
  return /[.e]/.test(spelled) ? spelled : `${spelled}.0`;
}

function spellJson(value, numeric, levels = 200) {
  if (value instanceof JsonNumber) return spellNumber(value, numeric);
  if (typeof value === "string") return text(value) && JSON.stringify(value);
  if (value === null || typeof value === "boolean") return String(value);
  if (!levels) refuse("InvalidValueError");
  if (Array.isArray(value)) return `[${value.map((member) => spellJson(member, numeric, levels - 1)).join(",")}]`;
  const names = Object.keys(value).sort((one, other) => Buffer.compare(text(one), text(other)));
  const members = names.map((name) => `${text(name) && JSON.stringify(name)}:${spellJson(value[name], numeric, levels - 1)}`);
  return `{${members.join(",")}}`;
}

function jsonText(content, numeric) {
  let value;
  try {
    value = parseJson(content);
  } catch {
    refuse("InvalidValueError");
  }
  if (value === null) refuse("InvalidValueError");
  return text(spellJson(value, numeric));
}

// Padding: ISO/IEC 7816-4.

function paddingOf(codec) {
  const [inner, rule] = codec.split(/\+(.*)/s);
  if (rule === undefined) return { inner };
  const [, kind, size] = /^(pad|fix)([1-9][0-9]{0,6})$/.exec(rule) ?? refuse("DefinitionError");
  if (size < 2 || size > 2 ** 20 || FIXED.includes(inner)) refuse("DefinitionError");
  return { inner, kind, size: Number(size) };
}

function pad(data, { kind, size }) {
  const marked = Buffer.concat([data, hex("80")]);
  if (kind === "fix" && marked.length > size) refuse("InvalidValueError");
  return Buffer.concat([marked, Buffer.alloc((size - (marked.length % size)) % size)]);
}

function unpad(stored, { kind, size }) {
  let end = stored.length;
  while (end && stored[end - 1] === 0) end -= 1;
  if (!end || stored[end - 1] !== 0x80 || stored.length % size || stored.length - end >= size) refuse("ValueError");
  if (kind === "fix" && stored.length !== size) refuse("ValueError");
  return stored.subarray(0, end - 1);
}

// The codecs by id: kinds of value, encode, decode, equality where it is another.

const ofLength = (length, stored) => stored.length === length || refuse("ValueError");
const readable = (read) => {
  try {
    return read();
  } catch {
    return refuse("ValueError");
  }
};

const CODEC = {
  "str/1": {
    kinds: ["str"],
    encode: (_, content) => text(content),
    decode: (stored) => ({ str: readable(() => utf8(stored)) }),
  },
  "bytes/1": { kinds: ["bytes"], encode: (_, content) => hex(content), decode: (s) => ({ bytes: s.toString("hex") }) },
  "int64/1": {
    kinds: ["int"],
    encode(_, content) {
      const number = BigInt(content);
      if (BigInt.asIntN(64, number) !== number) refuse("InvalidValueError");
      return fixedInteger(number, 8);
    },
    decode: (stored) => ofLength(8, stored) && { int: stored.readBigInt64LE().toString() },
  },
  "int/1": {
    kinds: ["int"],
    encode: (_, content) => shortestInteger(BigInt(content)),
    decode(stored) {
      const number = integerOf(stored);
      if (!shortestInteger(number).equals(stored)) refuse("ValueError");
      return { int: number.toString() };
    },
  },
  "float64/1": {
    kinds: ["float"],
    encode: (_, content) => Buffer.from(hex(content)).reverse(),
    decode: (stored) => ofLength(8, stored) && { float: Buffer.from(stored).reverse().toString("hex") },
    equality(stored) {
      const number = stored.readDoubleLE();
      if (Number.isNaN(number)) refuse("InvalidValueError");
      return number === 0 ? Buffer.alloc(8) : stored;
    },
  },
  "decimal/1": {
    kinds: ["decimal"],
    encode: (_, content) => (isDecimal(content) ? Buffer.from(content) : refuse("InvalidValueError")),
    decode(stored) {
      const content = stored.toString("latin1");
      return isDecimal(content) ? { decimal: content } : refuse("ValueError");
    },
    equality: (stored) => decimalEquality(stored.toString("latin1")),
  },
  "bool/1": {
    kinds: ["bool"],
    encode: (_, content) => Buffer.from([content ? 1 : 0]),
    decode: (stored) => ofLength(1, stored) && (stored[0] > 1 ? refuse("ValueError") : { bool: stored[0] === 1 }),
  },
  "uuid/1": {
    kinds: ["uuid"],
    encode: (_, content) => hex(content.replaceAll("-", "")),
    decode(stored) {
      ofLength(16, stored);
      const [, ...groups] = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(stored.toString("hex"));
      return { uuid: groups.join("-") };
    },
  },
  "date/1": {
    kinds: ["date"],
    encode: (_, content) => fixedInteger(BigInt(dayOf(content)), 4),
    decode(stored) {
      ofLength(4, stored);
      const day = stored.readInt32LE();
      return day < FIRST_DAY || day > LAST_DAY ? refuse("ValueError") : { date: isoDate(day) };
    },
  },
  "datetime/1": {
    kinds: ["datetime", "second datetime"],
    encode: (kind, content) => clockBytes(clockOf(kind, content)),
    decode: (stored) =>
      decodeClock(stored, "datetime", BigInt(FIRST_DAY) * DAY, BigInt(LAST_DAY + 1) * DAY - 1n, spellMoment),
    equality: (stored) => instant(stored),
  },
  "time/1": {
    kinds: ["time", "second time"],
    encode: (kind, content) => clockBytes(clockOf(kind, content)),
    decode: (stored) => decodeClock(stored, "time", 0n, DAY - 1n, isoTime),
    equality: (stored) => instant(stored),
  },
  "enum/1": {
    kinds: ["str"],
    encode: (_, content) => text(content),
    decode: (stored) => ({ str: readable(() => utf8(stored)) }),
  },
  "json/1": {
    kinds: ["json"],
    encode: (_, content) => jsonText(content, false),
    decode: (stored) =>
      readable(() => {
        const content = utf8(stored);
        assert.equal(jsonText(content, false).toString(), content);
        return { json: content };
      }),
    equality: (stored) => jsonText(stored.toString(), true),
  },
};
const FIXED = ["int64/1", "float64/1", "bool/1", "uuid/1", "date/1", "datetime/1", "time/1"];

function instant(stored) {
  const [kind, shown, offset] = [stored[0], stored.readBigInt64LE(1), stored.readBigInt64LE(9)];
  return clockBytes({ kind: kind === 2 ? 2 : 0, shown: shown - offset, offset: 0n });
}

function codecOf(id) {
  const padding = paddingOf(id);
  if (!Object.hasOwn(CODEC, padding.inner)) refuse("DefinitionError");
  return { ...CODEC[padding.inner], padding };
}

function encode(id, tagged) {
  const [[kind, content]] = Object.entries(tagged);
  const codec = codecOf(id);
  if (!codec.kinds.includes(kind)) refuse("InvalidValueError");
  const stored = codec.encode(kind, content);
  return codec.padding.size ? pad(stored, codec.padding) : stored;
}

function decode(id, stored) {
  const codec = codecOf(id);
  return codec.decode(codec.padding.size ? unpad(stored, codec.padding) : stored);
}

// Padding is no part of it.
function equality(id, tagged) {
  const { padding, equality: made = (stored) => stored } = codecOf(id);
  return made(encode(padding.inner, tagged));
}

// JSON is given in any spelling and comes back in its own.
const asStored = (tagged) => (tagged.json === undefined ? tagged : { json: jsonText(tagged.json, false).toString() });

// Normalisers.

const WHITE_SPACE = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

function normalise(normaliser, text) {
  switch (normaliser) {
    case "exact/1":
      return text;
    case "trimmed/1":
      return text.replace(new RegExp(`^[${WHITE_SPACE}]+|[${WHITE_SPACE}]+$`, "gu"), "");
    case "digits/1": {
      const digits = text.replace(/[^0-9]/gu, "");
      if (/(?![0-9])\p{Nd}/u.test(text) || (text && !digits)) throw new Refusal("InvalidValueError");
      return digits;
    }
    case "casefold/1":
      return casefold(text);
    case "email/1":
      return email(text);
    case "domain/1": {
      const address = email(text);
      return address.includes("@") ? address.slice(address.lastIndexOf("@") + 1) || null : null;
    }
    case "last4/1": {
      if (/(?![0-9])\p{Nd}/u.test(text)) throw new Refusal("InvalidValueError");
      const digits = text.replace(/[^0-9]/gu, "");
      return digits.length < 4 ? null : digits.slice(-4);
    }
  }
  const [, region] = /^phone-([a-z]{2})\/[0-9]+(?:\.[0-9]+){1,3}$/.exec(normaliser) ?? [];
  if (region) return phone(region, text);
  throw new Refusal("DefinitionError");
}

// What the numbering plans say, of the countries that the vectors hold: country code, trunk prefix, prefix of calls
// abroad, and the possible numbers of digits. phonenumbers is not asked: this is a second reading of the same rules.
const PLANS = {
  de: { code: "49", trunk: "0", abroad: "00", least: 5, most: 11 },
  fr: { code: "33", trunk: "0", abroad: "00", least: 9, most: 9 },
  gb: { code: "44", trunk: "0", abroad: "00", least: 9, most: 10 },
  it: { code: "39", trunk: "", abroad: "00", least: 6, most: 12 },
  us: { code: "1", trunk: "1", abroad: "011", least: 10, most: 10 },
  freephone: { code: "800", trunk: "", least: 8, most: 8 },
};
const KEYPAD = "22233344455566677778889999"; // ITU-T E.161

function phone(region, spelling) {
  const [, number, extension] = /^(.*?)(?: *(?:;ext=|ext\. |x)([0-9]+))?$/su.exec(spelling.normalize("NFKC"));
  const dialled = /[+\p{Nd}].*$/su.exec(number)?.[0] ?? "";
  const written = /([A-Z].*){3}/.test(dialled) ? dialled.replace(/[A-Z]/g, (l) => KEYPAD[l.charCodeAt(0) - 65]) : dialled;
  const digits = written.replace(/[^+\p{Nd}]/gu, "").replace(/[\u0660-\u0669]/g, (d) => d.charCodeAt(0) - 0x660);
  const home = PLANS[region];
  const prefix = ["+", home?.abroad].find((one) => one && digits.startsWith(one));
  const plan = prefix === undefined ? home
    : Object.values(PLANS).find(({ code }) => digits.startsWith(prefix + code));
  if (plan) {
    const rest = prefix === undefined ? digits : digits.slice(prefix.length + plan.code.length);
    const significant = plan.trunk && rest.startsWith(plan.trunk) ? rest.slice(plan.trunk.length) : rest;
    if (significant.length >= plan.least && significant.length <= plan.most) {
      return `+${plan.code}${significant}${extension ? `;ext=${extension}` : ""}`;
    }
  }
  return `text:${normalise("trimmed/1", spelling)}`;
}

function email(text) {
  const trimmed = (part) => normalise("trimmed/1", part);
  const folded = trimmed(casefold(trimmed(text)));
  return folded.includes("@") ? folded.replace(new RegExp(`[.${WHITE_SPACE}]+$`, "u"), "") : folded;
}

// A date, or a time, which if it is aware counts as at UTC.
function dayPart(normaliser, tagged) {
  const [[kind, content]] = Object.entries(tagged);
  let shown = content;
  if (kind !== "date") {
    const { kind: aware, shown: microseconds, offset } = clockOf(kind, content);
    const at = microseconds - (aware === 2 ? offset : 0n);
    if (at < BigInt(FIRST_DAY) * DAY || at >= BigInt(LAST_DAY + 1) * DAY) refuse("InvalidValueError");
    shown = spellMoment(at);
  }
  return shown.slice(0, normaliser === "year/1" ? 4 : 7);
}

// JavaScript has no case folding and no table of ages; this is both for the characters that the vectors hold.
function casefold(text) {
  if (/\p{Cn}/u.test(text) || text.includes("\u{1fae8}")) throw new Refusal("InvalidValueError");
  const fold = (part) => part.toLowerCase().toUpperCase().toLowerCase().replaceAll("\u03c2", "\u03c3");
  return fold(fold(text.normalize("NFD")).normalize("NFKC")).normalize("NFKC");
}

// Row context.

function rowContext(bound, row) {
  const parts = bound.flatMap(({ column, codec }) => {
    if (!row || row[column] === undefined || row[column] === null) throw new Refusal("RowBindingError");
    try {
      return [codec, encode(codec, row[column])];
    } catch {
      throw new Refusal("RowBindingError");
    }
  });
  return framed(...parts);
}

// Sealed values.

function open({ keyring, keys, field, generations = [], row, sealed }) {
  const stored = hex(sealed);
  if (stored.length < 34 || stored[0] !== 1 || stored.readUInt32BE(2) === 0) throw new Refusal("NotSealedError");
  const head = stored.subarray(0, 6);
  const key = keys[head.subarray(2).toString("hex")];
  if (key === undefined) throw new Refusal("UnknownKeyError");
  const definition = [field, ...generations].find(({ generation }) => generation === head[1]);
  if (definition === undefined) throw new Refusal("UnknownGenerationError");
  const fieldKey = derive(hex(key), hex(keyring), "noisevault/1 field", field.table, field.column);
  const cipher = createDecipheriv("aes-256-gcm", fieldKey, stored.subarray(6, 18), { authTagLength: 16 });
  cipher.setAAD(Buffer.concat([head, framed(definition.codec, rowContext(definition.bound, row))]));
  cipher.setAuthTag(stored.subarray(-16));
  try {
    const plain = Buffer.concat([cipher.update(stored.subarray(18, -16)), cipher.final()]);
    return decode(definition.codec, plain);
  } catch {
    throw new Refusal("CannotOpenError");
  }
}

function seal({ keyring, keys, field, key_id, nonce, value, row }) {
  const head = Buffer.concat([Buffer.from([1, field.generation]), hex(key_id)]);
  const fieldKey = derive(hex(keys[key_id]), hex(keyring), "noisevault/1 field", field.table, field.column);
  const cipher = createCipheriv("aes-256-gcm", fieldKey, hex(nonce), { authTagLength: 16 });
  cipher.setAAD(Buffer.concat([head, framed(field.codec, rowContext(field.bound, row))]));
  const body = [cipher.update(encode(field.codec, value)), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([head, hex(nonce), ...body]).toString("hex");
}

// Terms.

function leftmost(digest, bits) {
  const kept = Buffer.from(digest.subarray(0, Math.ceil(bits / 8)));
  if (bits % 8) kept[kept.length - 1] &= 0xff << (8 - (bits % 8));
  return kept;
}

// argon2id under a salt that the index's key gives. Before Node 24.7 there is none: such a test is counted as not read.
let slowNotRead = 0;

function stretched(key, input, slow) {
  if (slow === undefined) return input;
  const salt = createHmac("sha256", key).update(framed("noisevault/1 slow index")).digest().subarray(0, 16);
  return crypto.argon2Sync("argon2id", {
    message: input, nonce: salt, tagLength: 32, memory: slow.memory_kib, passes: slow.iterations, parallelism: slow.lanes,
  });
}

function term(test, key, input, { bits, slow }, generation = 0) {
  const digest = createHmac("sha256", key).update(stretched(key, input, slow)).digest();
  return Buffer.concat([Buffer.from([generation]), hex(test.key_id), leftmost(digest, bits)]).toString("hex");
}

const OF_DAYS = ["year/1", "month/1"];
const normalisedOf = (normaliser, value) =>
  OF_DAYS.includes(normaliser) ? dayPart(normaliser, value) : normalise(normaliser, value.str);

function indexInput(codec, normaliser, value) {
  if (normaliser === "exact/1") return equality(codec, value);
  equality(codec, value); // what cannot be stored is refused, even where the normaliser would drop it
  const normalised = normalisedOf(normaliser, value);
  return normalised === null ? null : text(normalised);
}

// The term that a value has must be the one that is given, all of it.
function matches(made, test) {
  if (made !== test.term) refuse("TermMismatch");
}

const KINDS = {
  index(test) {
    const { field, index } = test;
    const input = indexInput(field.codec, index.normaliser, test.value);
    if (input === null) return assert.deepEqual([test.equality, test.term], [null, null]);
    if (test.equality !== null) assert.equal(input.toString("hex"), test.equality);
    const key = derive(
      hex(test.index_key), hex(test.keyring), "noisevault/1 index", field.table, field.column, index.name,
    );
    matches(term(test, key, input, index, field.generation), test);
  },
  shared(test) {
    const key = derive(hex(test.index_key), hex(test.keyring), "noisevault/1 shared index", test.scope);
    matches(term(test, key, hex(test.equality), test), test);
  },
  compound(test) {
    if (test.parts.includes(null)) return assert.deepEqual([test.input, test.term], [null, null]);
    const input = framed(...test.parts.map(hex));
    if (test.input !== null) assert.equal(input.toString("hex"), test.input);
    const key = derive(
      hex(test.index_key), hex(test.keyring), "noisevault/1 compound index", test.table, test.index,
    );
    matches(term(test, key, input, test), test);
  },
};

// Definitions: RFC 8785 for objects whose members are named in ASCII.

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
  return `{${members.join(",")}}`;
}

const MEMBERS = ["bound", "codec", "column", "format", "generation", "indexes", "table"];

const OF_TEXTS = ["trimmed/1", "digits/1", "casefold/1", "email/1", "domain/1", "last4/1"];
const DAYS = ["date/1", "datetime/1"];

function requireMembers(object, needed, optional = []) {
  assert.ok(needed.every((name) => Object.hasOwn(object, name)));
  assert.ok(Object.keys(object).every((name) => needed.includes(name) || optional.includes(name)));
}

function requireNormaliser(normaliser, codec) {
  if (OF_TEXTS.includes(normaliser) || /^phone-[a-z]{2}\/[0-9]+(\.[0-9]+){1,3}$/.test(normaliser)) {
    assert.equal(codec, "str/1");
  } else if (OF_DAYS.includes(normaliser)) assert.ok(DAYS.includes(codec));
  else assert.equal(normaliser, "exact/1");
}

function requireName(name) {
  assert.ok(typeof name === "string" && name !== "" && !name.includes("."));
}

function requireWidth({ bits, generation = 0, slow }) {
  assert.ok(Number.isInteger(bits) && bits >= 1 && bits <= 256);
  assert.ok(Number.isInteger(generation) && generation >= 0 && generation <= 255);
  if (slow === undefined) return;
  requireMembers(slow, ["iterations", "lanes", "memory_kib"]);
  const { iterations, lanes, memory_kib } = slow;
  assert.ok([iterations, lanes, memory_kib].every((number) => Number.isSafeInteger(number) && number > 0));
  assert.ok(lanes <= 16 && memory_kib >= 7168 && memory_kib <= 1048576 && memory_kib * iterations <= 4194304);
}

function requireIndex(index, codec) {
  requireWidth(index);
  requireNormaliser(index.normaliser, codec);
  if (Object.hasOwn(index, "scope")) requireName(index.scope);
  if (!Object.hasOwn(index, "keyring")) return;
  assert.ok(typeof index.keyring === "string" && index.keyring !== "" && !Object.hasOwn(index, "scope"));
}

const INDEXES = {
  "noisevault/1 shared index"(definition) {
    requireMembers(definition, ["bits", "codec", "format", "generation", "normaliser", "scope"], ["slow"]);
    assert.ok(Object.hasOwn(CODEC, definition.codec));
    requireIndex(definition, definition.codec);
  },
  "noisevault/1 compound index"(definition) {
    requireMembers(definition, ["bits", "format", "generation", "name", "parts", "table"], ["slow"]);
    requireName(definition.name);
    requireWidth(definition);
    const columns = definition.parts.map(({ column }) => column);
    assert.ok(columns.length >= 2 && columns.length <= 16 && new Set(columns).size === columns.length);
    for (const part of definition.parts) {
      requireMembers(part, ["codec", "column", "normaliser"]);
      requireName(part.column);
      assert.ok(Object.hasOwn(CODEC, part.codec));
      requireNormaliser(part.normaliser, part.codec);
    }
  },
};

function readIndexDefinition(text) {
  try {
    const definition = JSON.parse(text);
    assert.equal(canonical(definition), text);
    INDEXES[definition.format](definition);
  } catch {
    throw new Refusal("DefinitionError");
  }
}

function readDefinition(text) {
  let definition;
  try {
    definition = JSON.parse(text);
  } catch {
    throw new Refusal("DefinitionError");
  }
  const known = assert.deepEqual.bind(null, Object.keys(definition).sort());
  try {
    known(MEMBERS);
    assert.equal(canonical(definition), text);
    const { padding } = codecOf(definition.codec);
    for (const index of definition.indexes) {
      requireMembers(index, ["bits", "name", "normaliser"], ["keyring", "scope", "slow"]);
      requireIndex(index, padding.inner);
    }
  } catch {
    throw new Refusal("DefinitionError");
  }
  return definition;
}

// What each file's tests ask.

const FILES = {
  codec(test) {
    if (test.value !== undefined) {
      const stored = encode(test.codec, test.value);
      assert.equal(stored.toString("hex"), test.storage);
      if (test.equality === null) assert.throws(() => equality(test.codec, test.value), Refusal);
      else assert.equal(equality(test.codec, test.value).toString("hex"), test.equality);
    }
    const value = decode(test.codec, hex(test.storage));
    assert.deepEqual(value, asStored(test.value));
  },
  normaliser(test) {
    const value = typeof test.value === "string" ? { str: test.value } : test.value;
    assert.equal(normalisedOf(test.normaliser, value), test.normalised);
  },
  row_context(test) {
    assert.equal(rowContext(test.bound, test.row).toString("hex"), test.context);
  },
  sealed_value(test) {
    const value = open(test);
    assert.deepEqual(value, test.value);
    assert.equal(seal(test), test.sealed);
  },
  term(test) {
    KINDS[test.kind](test);
  },
  phone(test) {
    if (test.result === "valid") assert.equal(normalise(test.index.normaliser, test.value.str), test.normalised);
    KINDS[test.kind](test);
  },
  definition(test) {
    readDefinition(test.canonical_json);
    assert.equal(createHash("sha256").update(test.canonical_json, "utf8").digest("hex"), test.fingerprint);
  },
  index_definition(test) {
    readIndexDefinition(test.canonical_json);
    assert.equal(createHash("sha256").update(test.canonical_json, "utf8").digest("hex"), test.fingerprint);
  },
};

function verified(name, tests, check) {
  for (const test of tests) {
    const label = `${name} ${test.tcId}: ${test.comment}`;
    if (name === "term" && crypto.argon2Sync === undefined && (test.slow ?? test.index?.slow)) {
      slowNotRead += 1;
      continue;
    }
    if (test.result === "valid") {
      try {
        check(test);
      } catch (error) {
        throw new Error(label, { cause: error });
      }
    } else assert.throws(() => check(test), { name: test.error }, label);
  }
  return name === "term" ? tests.length - slowNotRead : tests.length;
}

const read = (name) => JSON.parse(readFileSync(join(process.argv[2], `${name}.json`), "utf8"));
const counts = {};
for (const [name, check] of Object.entries(FILES)) counts[name] = verified(name, read(name).tests, check);

// The keys' own file: what is valid there (its refusals are about arguments, not about stored bytes).

const LABEL = (kind) => `noisevault/1 ${kind}`;
const KEYS = {
  framing(test) {
    assert.equal(framed(...test.parts.map(hex)).toString("hex"), test.framed);
  },
  wrap(test) {
    const sequence = Buffer.alloc(8);
    sequence.writeBigUInt64BE(BigInt(test.sequence));
    const context = framed("noisevault/1 wrap", hex(test.keyring), test.purpose, hex(test.key_id), sequence);
    assert.equal(context.toString("hex"), test.context);
  },
  derived(test) {
    assert.equal(framed(LABEL(test.kind), hex(test.keyring), ...test.names).toString("hex"), test.info);
    const key = derive(hex(test.key), hex(test.keyring), LABEL(test.kind), ...test.names);
    assert.equal(key.toString("hex"), test.derived);
  },
};
const keys = read("kms_derive");
for (const [part, check] of Object.entries(KEYS)) {
  counts[`kms_derive ${part}`] = verified(part, keys[part].filter(({ result }) => result === "valid"), check);
}

// Key-encryption keys: wrapped data keys, and the file of a local one.

const hkdf = (key, label) => Buffer.from(hkdfSync("sha256", key, Buffer.alloc(0), framed(label), 32));

function opened(key, iv, sealed, context, error) {
  if (sealed.length <= 16) throw new Refusal(error);
  const cipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: 16 });
  cipher.setAAD(context);
  cipher.setAuthTag(sealed.subarray(-16));
  try {
    return Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
  } catch {
    throw new Refusal(error);
  }
}

function unwrapped(key, wrapped, context) {
  const plain = opened(key, wrapped.subarray(0, 12), wrapped.subarray(12), context, "CannotUnwrapError");
  if (plain.length < 16 || plain.length > 64) throw new Refusal("CannotUnwrapError");
  return plain;
}

function wrapped(key, iv, plain, context) {
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: 16 });
  cipher.setAAD(context);
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

const local = read("kms_local");
const localKey = hkdf(hex(local.key_file), "noisevault/1 local wrap");
assert.equal(unwrapped(localKey, hex(local.ciphertext), hex(local.context)).toString("hex"), local.key, "kms_local");
const again = wrapped(localKey, hex(local.nonce), hex(local.key), hex(local.context)).toString("hex");
assert.equal(again, local.ciphertext, "kms_local");
const fingerprint = hkdf(hex(local.key_file), "noisevault/1 local fingerprint").toString("hex", 0, 16);
assert.equal(`local:${fingerprint}`, local.kek, "kms_local");
counts.kms_local = 1;

const token = read("kms_pkcs11");
counts.kms_pkcs11 = verified("kms_pkcs11", token.tests, (test) => {
  const [kek, context] = [hex(test.kek), hex(test.context)];
  assert.equal(unwrapped(kek, hex(test.wrapped), context).toString("hex"), test.key);
  assert.equal(wrapped(kek, hex(test.iv), hex(test.key), context).toString("hex"), test.wrapped);
});

const UNRESERVED = /^[A-Za-z0-9._~-]$/;
const quoted = (text) =>
  [...Buffer.from(text)]
    .map((byte) => [String.fromCharCode(byte), byte.toString(16).toUpperCase().padStart(2, "0")])
    .map(([character, digits]) => (UNRESERVED.test(character) ? character : `%${digits}`))
    .join("");
for (const { serial, id, label, identity } of token.identities) {
  const said = [`serial=${quoted(serial)}`];
  if (id) said.push(`id=${id.toUpperCase().replace(/../g, "%$&")}`);
  if (label) said.push(`object=${quoted(label)}`);
  assert.equal(`pkcs11:${said.join(";")}`, identity, "kms_pkcs11 identities");
}
counts["kms_pkcs11 identities"] = token.identities.length;

// Key files under a passphrase: refused before anything is computed, but for a wrong passphrase.

const FORMAT = "noisevault/1 passphrase key file";
const PARAMETERS = { scrypt: ["n", "r", "p"], argon2id: ["memory_kib", "iterations", "lanes"] };
const SIZES = { ciphertext: 48, nonce: 12, salt: 16 };
const MIB = 1024;
const GIB = 1024 * MIB;

function without(members, ...names) {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));
}

function require_(condition) {
  if (!condition) throw new Refusal("KeyFileError");
}

function readKeyFile(text) {
  require_(Buffer.byteLength(text) <= 4096);
  let members;
  try {
    members = JSON.parse(text);
  } catch {
    throw new Refusal("KeyFileError");
  }
  require_(canonical(members) === text.trim());
  require_(createHash("sha256").update(canonical(without(members, "sha256"))).digest("hex") === members.sha256);
  require_(members.format === FORMAT);
  const parameters = PARAMETERS[members.kdf];
  require_(parameters !== undefined);
  const known = ["ciphertext", "format", "kdf", "nonce", "salt", "sha256", ...parameters];
  require_(Object.keys(members).length === known.length && known.every((name) => name in members));
  for (const [name, size] of Object.entries(SIZES)) {
    require_(new RegExp(`^[0-9a-f]{${2 * size}}$`).test(members[name]));
  }
  require_(parameters.every((name) => Number.isSafeInteger(members[name]) && members[name] > 0));
  const { n, r, p, memory_kib, iterations, lanes } = members;
  const [memory, passes] = members.kdf === "scrypt" ? [(128 * n * r) / 1024, p] : [memory_kib, iterations];
  require_(memory >= 7 * MIB && memory <= 2 * GIB && memory * passes <= 4 * GIB);
  require_(members.kdf === "scrypt" ? Number.isInteger(Math.log2(n)) : lanes <= 16);
  return members;
}

function passphraseKey({ kdf, salt, n, r, p, memory_kib, iterations, lanes }, passphrase) {
  const secret = Buffer.from(passphrase.normalize("NFC"), "utf8");
  if (kdf === "scrypt") return scryptSync(secret, hex(salt), 32, { N: n, r, p, maxmem: 2 ** 31 });
  return crypto.argon2Sync("argon2id", {
    message: secret, nonce: hex(salt), tagLength: 32, memory: memory_kib, passes: iterations, parallelism: lanes,
  });
}

const notRead = [];
const files = read("kms_passphrase_file").tests;
const keyFiles = files.filter((test) => {
  if (crypto.argon2Sync !== undefined || test.error === "KeyFileError" || !test.file.includes("argon2id")) return true;
  notRead.push(test.tcId);
  return false;
});
counts.kms_passphrase_file = verified("kms_passphrase_file", keyFiles, ({ file, passphrase, key }) => {
  const members = readKeyFile(file);
  const aad = framed(FORMAT, canonical(without(members, "ciphertext", "sha256")));
  const secret = passphraseKey(members, passphrase);
  const plain = opened(secret, hex(members.nonce), hex(members.ciphertext), aad, "WrongPassphraseError");
  assert.equal(plain.toString("hex"), key);
});
counts["kms_passphrase_file not read"] = notRead.length;
counts["term not read"] = slowNotRead;
console.log(JSON.stringify(counts));
