// Reads the published vectors with node:crypto alone: a second reader of the stored forms, which shares no code
// with the vault and follows docs/formats.md. Usage: node verify_vectors.mjs DIRECTORY. Prints the number of
// tests of each file as JSON; the first that fails is an error.

import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync } from "node:crypto";
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

// Codecs.

function encode(codec, tagged) {
  const [[kind, content]] = Object.entries(tagged);
  if (codec === "str/1" && kind === "str" && content.isWellFormed()) return Buffer.from(content, "utf8");
  if (codec === "bytes/1" && kind === "bytes") return hex(content);
  if (codec === "int64/1" && kind === "int") {
    const number = BigInt(content);
    if (BigInt.asIntN(64, number) !== number) throw new Refusal("InvalidValueError");
    const stored = Buffer.alloc(8);
    stored.writeBigInt64LE(number);
    return stored;
  }
  if (codec === "float64/1" && kind === "float") {
    const stored = Buffer.alloc(8);
    stored.writeBigUInt64LE(BigInt(`0x${content}`));
    return stored;
  }
  if (codec === "uuid/1" && kind === "uuid") return hex(content.replaceAll("-", ""));
  throw new Refusal("InvalidValueError");
}

function decode(codec, stored) {
  switch (codec) {
    case "str/1":
      try {
        return { str: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(stored) };
      } catch {
        throw new Refusal("ValueError");
      }
    case "bytes/1":
      return { bytes: stored.toString("hex") };
    case "int64/1":
      if (stored.length !== 8) throw new Refusal("ValueError");
      return { int: stored.readBigInt64LE().toString() };
    case "float64/1":
      if (stored.length !== 8) throw new Refusal("ValueError");
      return { float: stored.readBigUInt64LE().toString(16).padStart(16, "0") };
    case "uuid/1": {
      if (stored.length !== 16) throw new Refusal("ValueError");
      const [, ...groups] = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(stored.toString("hex"));
      return { uuid: groups.join("-") };
    }
  }
  throw new Refusal("DefinitionError");
}

function equality(codec, tagged) {
  const stored = encode(codec, tagged);
  if (codec !== "float64/1") return stored;
  const number = stored.readDoubleLE();
  if (Number.isNaN(number)) throw new Refusal("InvalidValueError");
  return number === 0 ? Buffer.alloc(8) : stored;
}

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
  }
  throw new Refusal("DefinitionError");
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

function term(test, key, input, bits = 256, generation = 0) {
  const digest = createHmac("sha256", key).update(input).digest();
  return Buffer.concat([Buffer.from([generation]), hex(test.key_id), leftmost(digest, bits)]).toString("hex");
}

function indexInput(codec, normaliser, value) {
  if (normaliser === "exact/1") return equality(codec, value);
  encode(codec, value); // what cannot be stored is refused, even where the normaliser would drop it
  return equality(codec, { str: normalise(normaliser, value.str) });
}

const KINDS = {
  index(test) {
    const { field, index } = test;
    const input = indexInput(field.codec, index.normaliser, test.value);
    assert.equal(input.toString("hex"), test.equality);
    const key = derive(
      hex(test.index_key), hex(test.keyring), "noisevault/1 index", field.table, field.column, index.name,
    );
    assert.equal(term(test, key, input, index.bits, field.generation), test.term);
  },
  shared(test) {
    const key = derive(hex(test.index_key), hex(test.keyring), "noisevault/1 shared index", test.scope);
    assert.equal(term(test, key, hex(test.equality)), test.term);
  },
  compound(test) {
    if (test.parts.includes(null)) return assert.deepEqual([test.input, test.term], [null, null]);
    const input = framed(...test.parts.map(hex));
    assert.equal(input.toString("hex"), test.input);
    const key = derive(
      hex(test.index_key), hex(test.keyring), "noisevault/1 compound index", test.table, test.index,
    );
    assert.equal(term(test, key, input), test.term);
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
const CODECS = ["str/1", "bytes/1", "int64/1", "float64/1", "uuid/1"];

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
    assert.ok(CODECS.includes(definition.codec));
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
    assert.deepEqual(value, test.value);
  },
  normaliser(test) {
    assert.equal(normalise(test.normaliser, test.value), test.normalised);
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
  definition(test) {
    readDefinition(test.canonical_json);
    assert.equal(createHash("sha256").update(test.canonical_json, "utf8").digest("hex"), test.fingerprint);
  },
};

function verified(name, tests, check) {
  for (const test of tests) {
    const label = `${name} ${test.tcId}: ${test.comment}`;
    if (test.result === "valid") {
      try {
        check(test);
      } catch (error) {
        throw new Error(label, { cause: error });
      }
    } else assert.throws(() => check(test), { name: test.error }, label);
  }
  return tests.length;
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
console.log(JSON.stringify(counts));
