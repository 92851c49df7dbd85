import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { instructionTable } from "../../../../agent-server/memory/gates/instruction-rules.ts";
import { parseSanitizer } from "../../../../agent-server/security/sanitizer.ts";

const config = join(import.meta.dirname, "../../../../config");
const table = readFileSync(join(config, instructionTable.file), "utf8");

describe("the table that tells orders from facts", () => {
  it("finds its own examples and nothing in the ordinary ones", () => {
    expect(() => parseSanitizer(`${table}\n# Changed, so that its examples are tried\n`, instructionTable)).not.toThrow();
  });
});
