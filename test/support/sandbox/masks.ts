import { productPaths } from "../../../agent-server/paths.ts";
import { createPathPolicy } from "../../../agent-server/governance/policy/path-policy.ts";
import { createSandboxSettings } from "../../../agent-server/sandbox/sandbox-settings.ts";
import { createSecretMasks, type FindMasked } from "../../../agent-server/sandbox/secret-masks.ts";

/** The secret files of a workspace by the shipped path rules, and the data folder's own sandbox.yaml. */
export function masksOf({ workspace, dataDir }: { readonly workspace: string; readonly dataDir: string }): FindMasked {
  const { configDir } = productPaths();
  const { judgeName, resolve } = createPathPolicy({ workspace, dataDir, configDir });
  return createSecretMasks({
    workspace,
    dataDir,
    governance: { judgeName, resolvePath: resolve },
    settings: createSandboxSettings({ configDir, dataDir }),
  });
}
