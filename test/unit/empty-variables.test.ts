import { isAbsolute } from "node:path";
import { expect, it } from "vitest";
import { registryOf } from "../../agent-server/models/local/npm-registry.ts";
import { defaultDataDir } from "../../agent-server/paths.ts";
import { parseRateLimit } from "../../agent-server/gateway/rate-limit.ts";
import { createOwnerGate } from "../../agent-server/security/owner-gate.ts";

it("an empty variable counts as unset", () => {
  const empty = { LANCELOT_DATA: "", XDG_DATA_HOME: "", APPDATA: "" };
  expect(defaultDataDir(empty)).toBe(defaultDataDir({}));
  expect(isAbsolute(defaultDataDir(empty))).toBe(true);
  expect(registryOf({ npm_config_registry: "", NPM_CONFIG_REGISTRY: "" })).toBe(registryOf({}));
  expect(registryOf({ npm_config_registry: "", NPM_CONFIG_REGISTRY: "https://npm.example/" })).toBe("https://npm.example");
  expect(parseRateLimit("")).toEqual(parseRateLimit(undefined));
  for (const token of ["", " ", "\n"]) expect(createOwnerGate(token).check(token)).toBe(false);
});
