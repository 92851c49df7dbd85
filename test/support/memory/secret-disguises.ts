import { reverse, rot13 } from "../../../agent-server/memory/gates/encoded-runs.ts";

const bytes = (text: string): Buffer => Buffer.from(text);
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function base32(text: string): string {
  const bits = [...bytes(text)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, "0"), 2)] ?? "").join("");
}

const each = (text: string, write: (byte: string, code: number) => string, gap = ""): string =>
  [...bytes(text)].map((byte) => write(byte.toString(16).padStart(2, "0"), byte)).join(gap);

/** Ways to write a text so that a search for it finds nothing. Each keeps all of it. */
export const secretDisguises: Readonly<Record<string, (text: string) => string>> = {
  "in base64": (text) => bytes(text).toString("base64"),
  "in base64 for addresses": (text) => bytes(text).toString("base64url"),
  "in base64 with line ends": (text) =>
    (
      bytes(text)
        .toString("base64")
        .match(/.{1,64}/g) ?? []
    ).join("\n"),
  "in base64 in pieces": (text) =>
    (
      bytes(text)
        .toString("base64")
        .match(/.{1,12}/g) ?? []
    ).join(" "),
  "in hexadecimal in pieces": (text) =>
    (
      bytes(text)
        .toString("hex")
        .match(/.{1,8}/g) ?? []
    ).join(" "),
  "in base64 of two bytes a letter": (text) => Buffer.from(text, "utf16le").toString("base64"),
  "twice in base64": (text) => bytes(bytes(text).toString("base64")).toString("base64"),
  "in base32": base32,
  "in hexadecimal": (text) => bytes(text).toString("hex"),
  "in hexadecimal capitals": (text) => bytes(text).toString("hex").toUpperCase(),
  "in hexadecimal with gaps": (text) => each(text, (byte) => byte, " "),
  "in hexadecimal with colons": (text) => each(text, (byte) => byte, ":"),
  "with percent signs": (text) => each(text, (byte) => `%${byte}`),
  "as escapes of a string": (text) => each(text, (byte) => `\\x${byte}`),
  "as escapes of JSON": (text) => each(text, (byte) => `\\u00${byte}`),
  "as entities": (text) => each(text, (_byte, code) => `&#${String(code)};`),
  "as hexadecimal entities": (text) => each(text, (byte) => `&#x${byte};`),
  "as bits": (text) => each(text, (_byte, code) => code.toString(2).padStart(8, "0"), " "),
  backwards: reverse,
  "in rot13": rot13,
  "with widthless spaces": (text) => Array.from(text).join("\u200b"),
  "with soft hyphens": (text) => Array.from(text).join("\u00ad"),
  "in wide letters": (text) => text.replace(/[!-~]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0)),
  "joined from parts": (text) => `"${text.slice(0, text.length >> 1)}" + "${text.slice(text.length >> 1)}"`,
  "over two lines": (text) => `${text.slice(0, text.length >> 1)}\\\n${text.slice(text.length >> 1)}`,
};
