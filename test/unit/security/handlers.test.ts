import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createPiiDetector, createRedactor, createSanitizer, securityHandlers } from "../../../agent-server/security/security.ts";

const configDir = join(import.meta.dirname, "../../../config");
const { "security.redact": redact } = securityHandlers({
  sanitizer: createSanitizer(configDir, () => undefined),
  redactor: createRedactor(),
  detector: createPiiDetector(null),
});
const call = { owner: false, signal: new AbortController().signal };

describe("security.redact", () => {
  it.each([
    ["a secret", "export const key = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCD'", "[redacted:"],
    ["a person's address", "Write to maria.keller@posteo.de about it", "Write to [redacted:email] about it"],
    ["both", "maria.keller@posteo.de, password = 'hV8#kk2Lq9!zzT'", "[redacted:email]"],
  ])("takes out %s and says what it was", async (_name, text, left) => {
    const { text: result, findings } = await redact({ text }, call);
    expect(result).toContain(left);
    expect(result).not.toMatch(/abcdefghijklmnop|keller|hV8#kk2/);
    for (const { placeholder } of findings) expect(result).toContain(placeholder);
    expect(findings.length).toBeGreaterThan(0);
  });

  it("leaves code as it is", async () => {
    const code = "const version = '1.2.3';\nfor (let index = 0; index < 10; index++) run(`127.0.0.1:${8080 + index}`);\n";
    expect(await redact({ text: code }, call)).toEqual({ text: code, findings: [] });
  });
});
