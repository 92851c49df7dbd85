import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import * as fc from "fast-check";

/** Path of an entry below a folder by the bytes of its names. */
export function below(folder: string | Buffer, ...names: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from(folder), ...names.flatMap((name) => [Buffer.from("/"), name])]);
}

/** Names that Linux permits: any bytes but NUL and a slash. Most are text that a program would not expect, or none. */
export const anyName: fc.Arbitrary<Buffer> = fc
  .oneof(
    fc.uint8Array({ minLength: 1, maxLength: 24 }).map((bytes) => Buffer.from(bytes)),
    fc
      .array(fc.constantFrom("a", "é", "\n", "\t", "\\", " ", '"', "\u{202e}", "\u{1f468}\u{200d}\u{1f467}", "\ufffd", "x41", "\u0001"), {
        minLength: 1,
        maxLength: 8,
      })
      .map((parts) => Buffer.from(parts.join(""))),
  )
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0xff : byte))))
  .filter((bytes) => bytes.toString() !== "." && bytes.toString() !== ".." && !bytes.toString().startsWith(".lancelot-"));

/** What a command can do with an entry. */
export const doings = ["delete", "empty", "folder", "link", "fifo", "chmod", "rename"] as const;
export type Doing = (typeof doings)[number];

export function apply(doing: Doing, path: Buffer): void {
  if (doing === "empty") return writeFileSync(path, "");
  if (doing === "chmod") return chmodSync(path, 0);
  if (doing === "rename") return renameSync(path, Buffer.concat([path, Buffer.from([0xfe])]));
  rmSync(path);
  if (doing === "folder") {
    mkdirSync(path);
    writeFileSync(below(path, Buffer.from("new\nfile")), "n");
  } else if (doing === "link") symlinkSync(Buffer.from([0x66, 0xff]), path);
  else if (doing === "fifo") makeFifo(path);
}

/** Arguments of programs are text here, so the shell makes the bytes. */
export function makeFifo(path: Buffer): void {
  const octal = [...path].map((byte) => `\\0${byte.toString(8)}`).join("");
  execFileSync("sh", ["-c", `p=$(printf '%b.' "$1"); mkfifo -m 644 -- "\${p%.}"`, "sh", octal]);
}

/** Everything below a folder and the folder itself: names by their bytes, kinds, permissions, contents, targets. */
export function bytePictureOf(folder: string | Buffer): Record<string, string> {
  const picture: Record<string, string> = {};
  const visit = (path: Buffer, key: string): void => {
    const stats = lstatSync(path);
    const mode = (stats.mode & 0o7777).toString(8);
    if (stats.isDirectory()) {
      picture[key] = `folder ${mode}`;
      for (const name of readdirSync(path, { encoding: "buffer" })) visit(below(path, name), `${key}/${name.toString("latin1")}`);
    } else if (stats.isSymbolicLink()) picture[key] = `link ${readlinkSync(path, { encoding: "buffer" }).toString("latin1")}`;
    else picture[key] = stats.isFile() ? `file ${mode} ${readFileSync(path).toString("base64")}` : `special ${stats.mode.toString(8)}`;
  };
  visit(Buffer.from(folder), ".");
  return picture;
}
