import { LancelotError } from "../../contract/errors.ts";
import type { SoulIssue } from "../../contract/soul.ts";
import type { ActiveSoulResolver } from "./active-soul.ts";
import type { ActivationPlan } from "./soul-activation.ts";
import { readSoul } from "./soul-document.ts";
import type { VersionFiles } from "./soul-version-files.ts";
import type { SoulVersionStore } from "./soul-version-store.ts";

/** The signed text of a version, or else the text of its file. @throws LancelotError `not_found`, `conflict`. */
export function versionText(version: string, versions: SoulVersionStore, files: VersionFiles): string {
  const signed = versions.get(version);
  if (signed !== null) return signed.yaml;
  const onDisk = files.readVersion(version);
  if (onDisk.ok) return onDisk.value;
  if (!files.list().includes(version)) throw new LancelotError("not_found", `No soul has the version ${version}.`);
  throw new LancelotError("conflict", onDisk.problem);
}

/** The activation plan for an earlier version. @throws LancelotError `conflict` when it is invalid or already active. */
export function planRollback(
  version: string,
  yaml: string,
  { activeSoul, lint }: { activeSoul: ActiveSoulResolver; lint: (yaml: string) => SoulIssue[] },
): ActivationPlan {
  const { document } = readSoul(yaml);
  const refusal = lint(yaml).find((issue) => issue.severity === "critical");
  if (refusal !== undefined) throw new LancelotError("conflict", `Soul ${version} cannot be activated: ${refusal.message}`);
  if (document?.version !== version)
    throw new LancelotError("conflict", `The file of soul ${version} declares version ${document?.version ?? "none"}.`);
  const from = activeSoul.version();
  if (from === version && activeSoul.problem() === null) throw new LancelotError("conflict", `Soul ${version} is already active.`);
  return { version, yaml, proposalId: null, actionName: "soul.rollback", inputs: { from } };
}
