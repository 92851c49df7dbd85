import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import { soulHash } from "./compile-soul.ts";
import type { SoulVersionStore } from "./soul-version-store.ts";
import type { VersionFiles } from "./soul-version-files.ts";

/** Copies the shipped versions into a new data folder and activates the shipped one. Does nothing where a soul exists. */
export function installShippedSoul(deps: {
  storage: Storage;
  files: VersionFiles;
  shipped: VersionFiles;
  versions: SoulVersionStore;
  /** Milliseconds since 1970. */
  now: () => number;
  log: Log;
}): void {
  const { storage, files, shipped, versions, log } = deps;
  storage.transaction(() => {
    if (files.list().length > 0 || versions.versions().length > 0 || files.readPointer().ok) return;
    const pointer = shipped.readPointer();
    if (!pointer.ok) return log(`shipped soul missing: ${pointer.problem}`);
    const at = new Date(deps.now()).toISOString();
    for (const version of shipped.list()) {
      const text = shipped.readVersion(version);
      if (!text.ok) continue;
      files.addVersion(version, text.value);
      versions.add({ version, yaml: text.value, sha256: soulHash(text.value), origin: "shipped", at });
    }
    if (versions.get(pointer.value) === null) return;
    versions.activate(pointer.value, at);
    files.point(pointer.value);
  });
}
