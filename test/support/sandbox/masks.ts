import { productPaths } from "../../../agent-server/paths.ts";
import { createPathPolicy } from "../../../agent-server/governance/policy/path-policy.ts";
import { createSandboxSettings } from "../../../agent-server/sandbox/sandbox-settings.ts";
import { createSecretIndex } from "../../../agent-server/workspace/workspace.ts";
import { createSecretMasks, type FindMasked } from "../../../agent-server/sandbox/secret-masks.ts";

/** The secret files of a workspace by the shipped path rules, and the data folder's own sandbox.yaml. */
export function masksOf({ workspace, dataDir }: { readonly workspace: string; readonly dataDir: string }): FindMasked {
  const { configDir } = productPaths();
  const { judgeName, resolve } = createPathPolicy({ workspace, dataDir, configDir });
  return createSecretMasks({
    workspace,
    index: createSecretIndex({ workspace, governance: { judgeName, resolvePath: resolve }, hidden: [dataDir], now: Date.now }),
    settings: createSandboxSettings({ configDir, dataDir }),
  });
}
