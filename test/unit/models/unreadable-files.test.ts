import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createOAuthSettings } from "../../../agent-server/security/oauth/oauth-settings.ts";
import { openCatalog } from "../../../agent-server/models/local/catalog.ts";

const configDir = join(import.meta.dirname, "../../../config");
const dataDir = mkdtempSync(join(tmpdir(), "lancelot-catalog-"));
mkdirSync(join(dataDir, "config"));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

it.each([": :", ".\ne:", "hub: [", "a: 1\na: 2", '"', "&a *b", "- 1", "hub: 1", "\t\tx", "%YAML 9\n---\n"])(
  "a catalog of local models that is %j is told by its name",
  (text) => {
    writeFileSync(join(dataDir, "config/local-models.yaml"), text);
    expect(openCatalog(configDir, dataDir).problem()).toContain("config/local-models.yaml");
  },
);

it.each(["x", "", "//", "http://[", "javascript:1", "https:/", "[]", "{}", "1", "ftp://a"])(
  "a sign-in at %j is told by its name",
  (address) => {
    writeFileSync(join(dataDir, "config/oauth.yaml"), `providers:\n  google:\n    token_endpoint: ${JSON.stringify(address)}\n`);
    expect(() => createOAuthSettings({ configDir, dataDir }).of("google")).toThrow(
      expect.objectContaining({ code: "unavailable", message: expect.stringContaining("token_endpoint") }),
    );
  },
);
