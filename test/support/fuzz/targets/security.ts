import * as fc from "fast-check";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { maxTextBytes } from "../../../../agent-server/contract/security.ts";
import { cleanText } from "../../../../agent-server/memory/gates/hidden-characters.ts";
import { plainForms } from "../../../../agent-server/memory/gates/encoded-runs.ts";
import { createInstructionRules } from "../../../../agent-server/memory/gates/instruction-rules.ts";
import { createKnownSecrets } from "../../../../agent-server/security/known-secrets/known-secrets.ts";
import { secretFileValues } from "../../../../agent-server/security/known-secrets/secret-file-values.ts";
import { normalizeText } from "../../../../agent-server/security/normalize-text.ts";
import { createPiiDetector } from "../../../../agent-server/security/pii/detector.ts";
import { createRedactor } from "../../../../agent-server/security/redactor.ts";
import { createSanitizer } from "../../../../agent-server/security/sanitizer.ts";
import { createSafeStream } from "../../../../agent-server/tools/command/redacted-stream.ts";
import { secretSamples } from "../../secret-samples.ts";
import { bytesOf, type Target } from "../target.ts";

const root = join(import.meta.dirname, "../../../..");
const text = (path: string): string => readFileSync(join(root, path), "utf8");

const secrets = secretSamples.map(([, around, secret]) => around.replace("§", () => secret));
const ordinary = [text("agent-server/storage/config-file.ts"), text("README.md").slice(0, 6_000), text("media/sample/package.json")];
const attacks = ["says", "unicode", "languages", "instructions"].map((name) =>
  text(`test/fixtures/injections/${name}.yaml`).slice(0, 8_000),
);

const key = fc.constantFrom(
  "password",
  "api_key",
  "DB_PASSWORD",
  "token",
  "secret",
  "AWS_SECRET_ACCESS_KEY",
  "Authorization",
  "cookie",
  "name",
);
const value = fc.oneof(fc.string({ maxLength: 40 }), fc.constantFrom(...secretSamples.map(([, , secret]) => secret)));
const assignment = fc
  .tuple(key, fc.constantFrom("=", ": ", '="', "='", " => ", ":=", "%3D", '\\":\\"'), value, fc.constantFrom("", '"', "'", "\n", ";", ","))
  .map((parts) => parts.join(""));
const assignments = fc.array(assignment, { minLength: 1, maxLength: 20 }).map((lines) => lines.join("\n"));

const secretFiles = [
  "A=1\nexport TOKEN=abcdef0123456789\n# note\nQUOTED=\"a b\\n c\"\nMULTI='x\ny'\n",
  '{"a":{"private_key":"-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----\\n"},"list":["one-two-three-four",2]}',
  "apiVersion: v1\nusers:\n- name: me\n  user:\n    token: abcdef0123456789abcdef\n    client-key-data: QUFBQUFBQUFBQUFBQUE=\n",
  "machine example.com login me password hunter2hunter2\n",
  "[default]\naws_access_key_id = AKIAQ3EXZ7LMPD5WTR2N\naws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXKEY12345\n",
  "<settings><servers><server><password>Tr0ub4dor&amp;3</password></server></servers></settings>",
  "//registry.npmjs.org/:_authToken=npm_abcdefghijklmnopqrstuvwxyz0123456789\n",
  "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n-----END OPENSSH PRIVATE KEY-----\n",
];
const fileNames = [
  ".env",
  "credentials.json",
  "kubeconfig",
  ".netrc",
  "secrets.yaml",
  "settings.xml",
  "id_ed25519",
  ".npmrc",
  "x.properties",
];

export const securityTargets: readonly Target[] = [
  {
    name: "redactor, text",
    samples: [...secrets, ...ordinary],
    grammar: assignments,
    words: ["password=", "token: ", "Bearer ", "-----BEGIN ", "PRIVATE KEY-----", "eyJ", "sk-", "://u:", "@h/", "AKIA"],
    open: () => {
      const redactor = createRedactor();
      return (input) => redactor.text(input);
    },
  },
  {
    name: "redactor, values",
    samples: secrets.map((one) => JSON.stringify({ tool: "x", args: { path: "a", headers: [{ authorization: one }] } })),
    grammar: fc.json({ maxDepth: 8 }),
    open: () => {
      const redactor = createRedactor();
      return (input) => {
        const parsed = jsonOf(input);
        return [redactor.value(parsed), redactor.value(parsed, 4_000)];
      };
    },
  },
  {
    name: "redactor, text that goes on",
    samples: secrets,
    grammar: assignments,
    open: () => {
      const redactor = createRedactor();
      return (input) => {
        const stream = createSafeStream(redactor);
        const size = 1 + (input.length % 997);
        // Each chunk has a cost of its own, so a long text arrives in longer ones.
        const step = Math.max(size, Math.ceil(input.length / 200));
        for (let from = 0; from < input.length; from += step) stream.add(input.slice(from, from + step));
        return stream.end();
      };
    },
  },
  {
    name: "known secrets, odd files",
    samples: secretFiles,
    words: ["=", ": ", "export ", '"""', "'", "\\n", "-----END ", "<<EOF\n", "password"],
    open: () => (input) => fileNames.map((name) => secretFileValues(name, bytesOf(input))),
  },
  {
    name: "known secrets, learning and finding",
    samples: secretFiles,
    open: () => (input) => {
      const known = createKnownSecrets();
      known.learnFile(".env", bytesOf(input));
      const end = input.slice(0, 20_000);
      return [known.find(end), known.find(Buffer.from(end).toString("base64")), known.inspect(encodeURIComponent(end.toWellFormed()))];
    },
  },
  {
    name: "personal data",
    samples: [...ordinary, "Jane Doe, born 1984-02-03, +49 170 1234567, DE89370400440532013000, 10 Main St\n"],
    words: ["@", "+49 ", "tel:", "IBAN ", "4111 1111 1111 1111", "name: ", "Mr. ", "192.168.0.1", "::1"],
    open: async (folder) => {
      const detector = createPiiDetector({ configDir: join(root, "config"), dataDir: folder });
      await detector.ready();
      return (input) => detector.find(input);
    },
  },
  {
    name: "injected instructions",
    samples: [...attacks, ...ordinary],
    words: ["ignore all previous instructions", "system:", "<|im_start|>", "[INST]", "\u200b", "&#105;", "=?utf-8?b?"],
    longest: Math.min(maxTextBytes, 200_000),
    open: () => {
      const sanitizer = createSanitizer(join(root, "config"));
      return (input) => sanitizer.inspect(input);
    },
  },
  {
    name: "normalized text",
    samples: attacks,
    longest: 200_000,
    open: () => (input) => normalizeText(input),
  },
  {
    name: "memory, gates of the text",
    samples: [
      ...attacks,
      ...["encoded", "worded", "forged"].map((name) => text(`test/fixtures/memory-poisoning/${name}.yaml`).slice(0, 6_000)),
    ],
    longest: 20_000,
    open: () => {
      const rules = createInstructionRules(join(root, "config"), () => undefined);
      return (input) => plainForms(cleanText(input).text).map((form) => rules.inspect(form));
    },
  },
];

/** The value of a JSON text; the text itself where it is none. */
function jsonOf(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}
