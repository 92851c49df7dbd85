import { basename } from "node:path";
import { secretKeyKind } from "../secret-names.ts";
import { lineValues, type NamedValue } from "./line-values.ts";
import { isTrivialValue } from "./trivial-values.ts";

/** A value of a secret file, and what kind of secret it is. */
export interface SecretValue {
  readonly value: string;
  readonly kind: string;
}

/** Bytes of a file that are read. */
const maxFileBytes = 256 * 1_024;
/** Bytes of a binary key store, whose value is found in base64 and in hexadecimal. */
const maxBinaryBytes = 16 * 1_024;
/** Most values of a file. */
const maxValues = 2_000;
/** Values of values, such as a configuration in base64 inside of another. */
const maxDepth = 3;

const pemBlock = /-----BEGIN ([A-Z0-9 ]{1,60})-----([\s\S]*?)(?:-----END [A-Z0-9 ]{1,60}-----|$)/g;

/** Reads every value of a secret file, whatever its format and its keys, except trivial ones. Never throws. */
export function secretFileValues(path: string, bytes: Uint8Array): SecretValue[] {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, maxFileBytes));
  if (content.includes(0)) {
    const binary = content.subarray(0, maxBinaryBytes);
    return [binary.toString("base64"), binary.toString("hex")].map((value) => ({ value, kind: "private-key" }));
  }
  const values = new Map<string, string>();
  const add = (value: string, kind: string): void => {
    if (values.size < maxValues && !values.has(value)) values.set(value, kind);
  };
  readText(content.toString("utf8").replace(/^\uFEFF/, ""), basename(path).toLowerCase(), add, 0);
  return [...values].map(([value, kind]) => ({ value, kind }));
}

type Add = (value: string, kind: string) => void;

function readText(text: string, name: string, add: Add, depth: number): void {
  const rest = text.replace(pemBlock, (_, label: string, body: string) => {
    if (label.includes("PRIVATE KEY")) for (const line of keyLines(body)) add(line, "private-key");
    return "";
  });
  for (const named of [...leavesOf(rest), ...lineValues(rest, name)]) readValue(named, add, depth);
}

/** The lines of a key, without its headers and without a short last line. */
function keyLines(body: string): string[] {
  return body
    .split(/[\r\n]+|\\[rn]/)
    .map((line) => line.trim())
    .filter((line) => line.length >= 8 && !/^[A-Za-z-]+: /.test(line));
}

function readValue({ key, value }: NamedValue, add: Add, depth: number): void {
  const bare = value.trim();
  if (bare.includes("-----BEGIN ") || bare.includes("\n")) {
    if (depth < maxDepth) readText(bare.replaceAll("\\n", "\n"), "", add, depth + 1);
    return;
  }
  if (!isTrivialValue(bare, key)) add(bare, (key === null ? null : secretKeyKind(key)) ?? "secret");
  if (depth >= maxDepth) return;
  for (const part of partsOf(bare)) readValue(part, add, depth + 1);
}

/** Secrets inside of a value: the password and the parameters of an address, the fields of a connection string, decoded base64. */
function partsOf(value: string): NamedValue[] {
  const parts: NamedValue[] = [];
  const address = /^[A-Za-z][A-Za-z0-9+.-]{1,30}:\/\/(?:([^\s:/?#]{0,200}):([^\s/?#]{1,1000})@)?/.exec(value);
  if (address?.[2] !== undefined) parts.push({ key: "password", value: address[2] }, { key: "password", value: unescaped(address[2]) });
  if (address !== null)
    for (const [, key, field] of value.matchAll(/[?&;]([\w.-]{1,100})=([^&;#\s]{1,2000})/g))
      parts.push({ key: key ?? null, value: field ?? "" });
  else if (/^[\w .-]{1,60}=[^;]{0,500};[\w .-]{1,60}=/.test(value))
    for (const [, key, field] of value.matchAll(/([\w .-]{1,60})=([^;]{1,500})/g))
      parts.push({ key: key?.trim() ?? null, value: field ?? "" });
  const decoded = decodedText(value);
  if (decoded === null) return parts;
  const credentials = /^([\x21-\x39\x3b-\x7e]{1,200}):([\x20-\x7e]{3,500})$/.exec(decoded);
  parts.push({ key: null, value: decoded });
  if (credentials?.[2] !== undefined) parts.push({ key: "password", value: credentials[2] });
  return parts;
}

/** The text that percent escapes stand for; the text itself where they are none. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The text that a base64 value stands for; null for other values and for binary data. */
function decodedText(value: string): string | null {
  if (value.length < 8 || value.length % 4 === 1 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(value)) return null;
  const text = Buffer.from(value, "base64").toString("latin1");
  return /^[\t\r\n\x20-\x7e]{6,}$/.test(text) ? text : null;
}

/** The leaves of a JSON document, each with the nearest name above it. Other formats are read by their lines, which hostile files cannot slow. */
function leavesOf(text: string): NamedValue[] {
  if (!/^\s*[[{]/.test(text)) return [];
  const values: NamedValue[] = [];
  try {
    collectLeaves(JSON.parse(text), null, values, 0);
  } catch {
    // The lines of a file that is no valid document are still read.
  }
  return values;
}

function collectLeaves(node: unknown, key: string | null, into: NamedValue[], depth: number): void {
  if (into.length > maxValues * 2 || depth > 40) return;
  if (typeof node === "string" || typeof node === "number" || typeof node === "bigint") into.push({ key, value: String(node) });
  else if (Array.isArray(node)) for (const item of node) collectLeaves(item, key, into, depth + 1);
  else if (typeof node === "object" && node !== null)
    for (const [name, field] of Object.entries(node))
      collectLeaves(field, secretKeyKind(name) === null && isSecretName(key) ? key : name, into, depth + 1);
}

function isSecretName(key: string | null): boolean {
  return key !== null && secretKeyKind(key) !== null;
}
