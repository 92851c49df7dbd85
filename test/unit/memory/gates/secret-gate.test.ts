import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import "../../../support/properties.ts";
import { rot13 } from "../../../../agent-server/memory/gates/encoded-runs.ts";
import { scrub } from "../../../../agent-server/memory/gates/secret-gate.ts";
import type { Author, ProposedEdit } from "../../../../agent-server/memory/item-types.ts";
import { secretDisguises } from "../../../support/memory/secret-disguises.ts";
import { gatesFixture, redactor } from "../../../support/memory/gates-fixture.ts";
import { secretSamples } from "../../../support/secret-samples.ts";
import { runs } from "../../../support/soak.ts";

const samples = secretSamples.map(([kind, text, secret]) => ({ kind, secret, text: text.replace("§", () => secret) }));
const agent: Author = { by: "agent", questId: null };
const owner: Author = { by: "owner", questId: null };

/** Whether a text still lets the secret be read: as it is, or by undoing what hid it. */
function tells(text: string, secret: string, disguised: string): boolean {
  return text.includes(secret) || text.includes(disguised);
}

describe("secrets", () => {
  it("are of more than 40 kinds", () => {
    expect(new Set(samples.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(40);
  });

  it.each(Object.keys(secretDisguises))("are taken out when they are written %s", (name) => {
    const disguise = secretDisguises[name];
    if (disguise === undefined) throw new Error(name);
    const reported = samples.flatMap(({ kind, text, secret }) => {
      const disguised = disguise(text);
      const whole = `The value of the staging server is kept here: ${disguised}\nIt was written down on Monday.`;
      const clean = scrub(whole, redactor);
      return tells(clean, secret, disguised) ? [`${kind}: ${clean.slice(0, 200)}`] : [];
    });
    expect(reported).toEqual([]);
  });

  it("inside two disguises", () => {
    const names = ["in base64", "in hexadecimal", "with percent signs", "backwards", "in rot13"] as const;
    const reported = samples.flatMap(({ kind, text, secret }) =>
      names.flatMap((outer) =>
        (["in base64", "in hexadecimal", "backwards"] as const).flatMap((inner) => {
          const disguised = secretDisguises[outer]?.(secretDisguises[inner]?.(text) ?? "") ?? "";
          const clean = scrub(`The note of the server: ${disguised} and nothing else.`, redactor);
          return tells(clean, secret, disguised) ? [`${kind} ${inner} ${outer}: ${clean.slice(0, 160)}`] : [];
        }),
      ),
    );
    expect(reported).toEqual([]);
  });

  it("packed", () => {
    for (const { text, secret } of samples) {
      const packed = gzipSync(`${text}\n${text}\n`).toString("base64");
      expect(tells(scrub(`The archive is ${packed} from Monday.`, redactor), secret, packed)).toBe(false);
    }
  });

  it.each([
    ["in two parts", (first: string, rest: string) => `"${first}" + "${rest}"`],
    ["in two parts side by side", (first: string, rest: string) => `'${first}' '${rest}'`],
    ["over two lines", (first: string, rest: string) => `${first}\n${rest}`],
    ["over two lines of a shell", (first: string, rest: string) => `${first}\\\n${rest}`],
    ["over two lines of a mail", (first: string, rest: string) => `> ${first}\n> ${rest}`],
  ])("whose first part is one by itself are taken out whole: %s", (_how, write) => {
    const first = `ATATT3x${"aB3dE6gH9j".repeat(3)}`;
    const rest = "7bC0fXaB3dE6gH9jK2mN";
    expect(scrub(`The server has ${write(first, rest)}\nIt is used at night.`, redactor)).not.toContain(rest);
  });

  it("are gone for good: doing it again changes nothing more", () => {
    fc.assert(
      fc.property(fc.constantFrom(...samples), fc.constantFrom(...Object.values(secretDisguises)), ({ text }, disguise) => {
        const once = scrub(`The server: ${disguise(text)} since Monday.`, redactor);
        expect(scrub(once, redactor)).toBe(once);
      }),
      { numRuns: runs(100, 300) },
    );
  });

  it.each([
    "The build takes 40 seconds and runs with Node 24.",
    "The commit 9ee11adf737960ff06123d5c4fba24d12c5b05ba removed the old parser.",
    "The image is pinned to sha256:9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0.",
    "Request ids look like 3f2504e0-4f89-11d3-9a0c-0305e82c3301.",
    "The logo is data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "Colours are #ff8800, #00ff00 and 0x1234abcd.",
    "Tokens are counted by tokenCount; the password field has id passwordInput.",
    "パスワードの画面は React で書かれている。",
    "The API key is read from the variable OPENAI_API_KEY in src/config.ts.",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z are the letters",
    "Numbers: 72, 101, 108, 108, 111, 32, 119, 111, 114, 108, 100",
  ])("are not seen where there is none: %s", (text) => {
    expect(scrub(text, redactor)).toBe(text);
  });
});

describe("an edit", () => {
  const gates = gatesFixture();
  const places = ["content", "reason", "selector", "tag", "ref"] as const;
  const edit = (place: (typeof places)[number], text: string): ProposedEdit => ({
    op: place === "selector" ? "replace" : "insert",
    target: "working",
    content: place === "content" ? `The staging server has this: ${text} since Monday.` : "The staging server runs Debian.",
    reason: place === "reason" ? `It was read: ${text}` : "It was read.",
    confidence: 0.9,
    provenance: { source: "agent", ...(place === "ref" ? { ref: `file ${text}`.slice(0, 500) } : {}) },
    ...(place === "selector" ? { selector: `server ${text}` } : {}),
    ...(place === "tag" ? { tags: ["server", text.slice(0, 60)] } : {}),
  });

  it("lets no secret through, wherever it stands and whoever writes it", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...samples),
        fc.constantFrom(...Object.values(secretDisguises), (text: string) => text),
        fc.constantFrom(...places),
        fc.constantFrom(agent, owner, { by: "system", questId: null } as const),
        ({ text, secret }, disguise, place, author) => {
          const disguised = disguise(text);
          const verdict = gates.judge(edit(place, disguised), author);
          // What a tag or a reference is too long for is cut here, not by the gates.
          if ((place === "ref" || place === "tag") && disguised.length > 50) return;
          const kept = JSON.stringify(verdict);
          expect(kept.includes(JSON.stringify(secret).slice(1, -1)) || kept.includes(JSON.stringify(disguised).slice(1, -1))).toBe(false);
        },
      ),
      { numRuns: runs(125, 500) },
    );
  });

  it.each(samples.slice(0, 30).map(({ kind, secret }) => [kind, secret]))(
    "that is nothing but a secret is refused: %s",
    (_kind, secret) => {
      const verdict = gates.judge({ ...edit("content", ""), content: `The key is ${secret}` }, owner);
      if (redactor.text(`The key is ${secret}`).findings.length > 0)
        expect(verdict).toMatchObject({ kind: "refuse", problem: { rule: "memory.secret" } });
      else expect(JSON.stringify(scrub(secret, redactor))).not.toContain("redacted");
    },
  );

  it("with halves of a secret in two places is refused", () => {
    const token = samples.find(({ kind }) => kind === "github-token")?.secret ?? "";
    const verdict = gates.judge(
      { ...edit("content", ""), content: `The first half is ${token.slice(0, 20)}`, tags: [token.slice(20)] },
      agent,
    );
    expect(verdict).toMatchObject({ kind: "refuse", problem: { rule: "memory.secret" } });
  });

  it("says that something was taken out", () => {
    const token = samples.find(({ kind }) => kind === "github-token")?.text ?? "";
    const verdict = gates.judge(edit("content", token), agent);
    expect(verdict).toMatchObject({
      kind: "store",
      notes: expect.arrayContaining([expect.stringContaining("secret")]) as string[],
    });
  });
});

it("rot13 undoes itself", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(rot13(rot13(text))).toBe(text);
    }),
  );
});
