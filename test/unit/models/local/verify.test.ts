import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createVerifier } from "../../../../agent-server/models/local/verify.ts";

let folder: string;
let path: string;
const bytes = randomBytes(3_000_000);
const sha256 = createHash("sha256").update(bytes).digest("hex");
const signal = new AbortController().signal;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "verify-"));
  path = join(folder, "a.gguf");
  writeFileSync(path, bytes);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("reads a file once, and believes what was found over restarts", async () => {
  const verifier = createVerifier(folder);
  expect(verifier.verdict(path)).toBe("unknown");
  expect(await verifier.verify(path, sha256, signal)).toBe(true);
  // Of another content it would say the same now: it is not read again.
  expect(await createVerifier(folder).verify(path, "0".repeat(64), signal)).toBe(true);
  expect(createVerifier(folder).verdict(path)).toBe("right");
});

it.each<[string, () => void]>([
  ["a bit of it changed", () => writeFileSync(path, flipped())],
  [
    "a bit of it changed and its old time was put back",
    () => {
      const { atime, mtime } = statSync(path);
      writeFileSync(path, flipped());
      utimesSync(path, atime, mtime);
    },
  ],
  [
    "another file of the same size and time took its place",
    () => {
      const { atime, mtime } = statSync(path);
      writeFileSync(`${path}.new`, flipped());
      utimesSync(`${path}.new`, atime, mtime);
      renameSync(`${path}.new`, path);
    },
  ],
])("looks again after %s", async (_what, change) => {
  const verifier = createVerifier(folder);
  verifier.remember(path);
  expect(verifier.verdict(path)).toBe("right");
  change();
  expect(verifier.verdict(path)).toBe("unknown");
  expect(await verifier.verify(path, sha256, signal)).toBe(false);
  expect(createVerifier(folder).verdict(path)).toBe("wrong");
  writeFileSync(path, bytes);
  expect(await verifier.verify(path, sha256, signal)).toBe(true);
});

it("keeps what other windows found, and lives with notes that are none", async () => {
  const [one, two] = [createVerifier(folder), createVerifier(folder)];
  const other = join(folder, "b.gguf");
  writeFileSync(other, bytes);
  one.remember(path);
  two.remember(other);
  expect(createVerifier(folder).verdict(path)).toBe("right");
  writeFileSync(join(folder, ".verified.json"), readFileSync(join(folder, ".verified.json"), "utf8").slice(0, 20));
  expect(createVerifier(folder).verdict(path)).toBe("unknown");
  expect(await createVerifier(folder).verify(path, sha256, signal)).toBe(true);
});

it("can be stopped", async () => {
  await expect(createVerifier(folder).verify(path, sha256, AbortSignal.abort())).rejects.toThrow();
});

function flipped(): Buffer {
  const other = Buffer.from(bytes);
  other[1_000_000] = (other[1_000_000] ?? 0) ^ 1;
  return other;
}
