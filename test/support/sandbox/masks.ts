import { productPaths } from "../../../agent-server/paths.ts";
import { createPathPolicy } from "../../../agent-server/governance/policy/path-policy.ts";
import { createSandboxSettings } from "../../../agent-server/sandbox/sandbox-settings.ts";
import { createSecretFiles, type FindMasked, type SecretFiles, type SecretFilesDeps } from "../../../agent-server/sandbox/secret-masks.ts";

type Given = Pick<SecretFilesDeps, "workspace" | "dataDir"> & Partial<Pick<SecretFilesDeps, "learn" | "log">>;

/** The secret files of a workspace by the shipped path rules, and the data folder's own sandbox.yaml. */
export function secretFilesOf({ workspace, dataDir, learn = () => undefined, log = () => undefined }: Given): SecretFiles {
  const { configDir } = productPaths();
  const { judgeName, isSecretFile, resolve } = createPathPolicy({ workspace, dataDir, configDir });
  return createSecretFiles({
    ...{ workspace, dataDir, learn, log },
    governance: { judgeName, isSecretFile, resolvePath: resolve },
    settings: createSandboxSettings({ configDir, dataDir }),
  });
}

export function masksOf(given: Given): FindMasked {
  return secretFilesOf(given).mask;
}
