import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLedger, type Ledger, receiptsMigrations } from "../../../agent-server/receipts/receipts.ts";
import { createPlaceholders, createRedactor, type Placeholders } from "../../../agent-server/security/security.ts";
import { openStorage, type Storage } from "../../../agent-server/storage/storage.ts";
import { gatesFixture } from "../../support/memory/gates-fixture.ts";
import { agent, proposedEdit } from "../../support/memory/memory-folder.ts";
import { base64, long } from "../../support/secret-samples.ts";
import { encodings, halves, isGone, samples } from "../../support/secrets/contexts.ts";

/** The text before, the secret, the text after. */
const written: readonly (readonly [before: string, secret: string, after: string])[] = [
  ["api_key: ", "s3cr3ttwo", ""],
  ["secret = '", "x", "'"],
  ["token: ", "abcdef", ""],
  ["password: ", "hunter2", ", user: bob"],
  ['password: "', "a b c", '"'],
  ['passphrase = "', "correct horse battery staple", '"'],
  ["DB_PASSWORD=", "Tr0ub4dor&3", ""],
  ["DBPASS=", "hunter2x", ""],
  ["MASTER=", "hunter2x", ""],
  ["mysql -u root -p", "S3cretpw", " shop"],
  ["mysql -p", "S3cretpw", ""],
  ["<password>", "hunter2", "</password>"],
  ["Cookie: sid=", "abc123def456", ""],
  ["client-key-data: ", base64(`-----BEGIN RSA PRIVATE KEY-----${long(60)}`), ""],
  ["use ", `sk-${long(20)}`, " for now"],
  ["use ", `ghp_${long(20)}`, " for now"],
  ["Authorization: Bearer ", "abc123", ""],
  ["heroku ", `HRKU-${long(60)}`, ""],
  ["fly ", `fo1_${long(43)}`, ""],
  ["cargo login ", `cio${long(32)}`, ""],
  ["nuget ", `oy2${"abcdefghij234567klmno".repeat(3).slice(0, 43)}`, ""],
  ["discord ", `${base64("123456789012345678")}.GabcdE.${long(38)}`, ""],
  ["square ", `EAAA${long(60)}`, ""],
  [String.raw`"{\\\"password\\\":\\\"`, "hunter2x", String.raw`\\\"}"`],
  ["q=%7B%22password%22%3A%22", "hunter2x", "%22%7D"],
  ["the password is ", "hunter2x", ""],
  ["| user | password |\n|---|---|\n| bob | ", "hunter2x", " |"],
];

let dataDir: string;
let storage: Storage;
let ledger: Ledger;
let placeholders: Placeholders;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-paths-"));
  storage = openStorage({ dataDir, migrations: receiptsMigrations });
  ledger = createLedger({ storage, redactor: createRedactor() });
  placeholders = createPlaceholders({ dataDir });
});
afterAll(() => {
  storage.close();
  rmSync(dataDir, { recursive: true, force: true });
});

describe.each(written)("%s%s%s", (before, secret, after) => {
  const text = before + secret + after;
  const sample = { name: text, before, secret, after };

  it("is hidden from a model, and given back", () => {
    const quest = placeholders.of("quest");
    const hidden = quest.secrets.text(text).text;
    expect(hidden).toContain("HIDDEN_");
    expect(isGone(sample, hidden)).toBe(true);
    expect(quest.restoreSecrets(hidden)).toBe(text);
  });

  it("is in no receipt", () => {
    const id = ledger.record(
      { actionType: "tool_call", actionName: "note", inputs: { text }, riskTier: "T0", questId: "q" },
      { status: "success", outputs: { text } },
    );
    ledger.flush();
    const receipt = ledger.get(id);
    for (const part of [receipt?.inputs["text"], receipt?.outputs["text"]]) {
      expect(part).toContain("[redacted:");
      expect(isGone(sample, String(part))).toBe(true);
    }
  });

  it("is in nothing that memory keeps", () => {
    const verdict = gatesFixture().judge(proposedEdit({ op: "insert", target: "archival", content: `The owner said:\n${text}` }), agent);
    expect(["store", "quarantine", "refuse"]).toContain(verdict.kind);
    if (verdict.kind === "refuse") return;
    expect(isGone(sample, verdict.edit.content ?? "")).toBe(true);
  });
});

describe("every text with a secret", () => {
  it("is given back as it was after it was hidden, in each encoding", () => {
    const quest = placeholders.of("quest-2");
    const all = halves.flatMap((half) => samples(half)).flatMap((sample) => Object.values(encodings).map((encode) => encode(sample)));
    const texts = all.map(({ before, secret, after }) => before + secret + after);
    expect(texts.filter((text) => quest.restoreSecrets(quest.secrets.text(text).text) !== text)).toEqual([]);
  });
});

describe("the host", () => {
  it("has one redactor, which all that writes gets", () => {
    const source = readFileSync(join(import.meta.dirname, "../../../agent-server/host-services.ts"), "utf8");
    expect(source.match(/createRedactor\(/g)).toHaveLength(1);
    expect(source.match(/createPlaceholders\(/g)).toHaveLength(1);
  });
});
