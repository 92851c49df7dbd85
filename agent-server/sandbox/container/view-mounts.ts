import { lstatSync } from "node:fs";
import { join, relative } from "node:path";
import type Dockerode from "dockerode";
import { isBelow, type OverlayView } from "../../workspace/workspace.ts";
import { temporaryName } from "../overlay/overlay-folders.ts";
import type { MaskedPaths } from "../secret-masks.ts";
import type { Engine } from "./container-engine.ts";
import { type MountPlan, mountMasks, withoutLinks } from "./container-mounts.ts";
import { unavailable } from "./engine-call.ts";

/** Separators of mount options and of Podman's volumes. */
const separators = /[,:\\"\n\r\t]/;

export interface ViewMountDeps {
  readonly engine: Pick<Engine, "name">;
  /** Mounted by this process, so that it shows what the task has. */
  readonly view: OverlayView;
  /** Working folder of the engine's mount of each layer, by the layer's name. */
  readonly workFolders: ReadonlyMap<string, string>;
  readonly masked: MaskedPaths;
  /** The file that is shown in place of a masked one. */
  readonly maskOf: (path: string) => string;
  /** Shown in place of each masked folder. */
  readonly maskFolder: string;
}

/** @throws LancelotError `unavailable` for a view that no engine can mount, because of its paths. */
export function assertPlainPaths({ folder, layers }: Pick<OverlayView, "folder" | "layers">): void {
  for (const path of [folder, ...layers.map(({ lower }) => lower)])
    if (separators.test(path))
      throw unavailable(
        `Container engines cannot show ${path} copy-on-write, because its name contains a comma, colon, quote, backslash, tab or line end.`,
      );
}

/**
 * Plans the mounts of a task's view: its layers at their folders' own paths, and its temporary folder. Nothing in it reaches the workspace by
 * itself, so all of it is writable except the masked paths.
 */
export function planViewMounts({ engine, view, workFolders, masked, maskOf, maskFolder }: ViewMountDeps): MountPlan {
  const overlays = view.layers.map((layer) => ({
    lower: layer.lower,
    options: [`upperdir=${view.upper(layer)}`, `workdir=${workFolders.get(layer.name) ?? ""}`],
  }));
  const files = new Set(masked.files);
  const masks = [...masked.files, ...masked.folders].flatMap((path) => {
    const layer = view.layers.find(({ lower }) => isBelow(lower, path) && lower !== path);
    if (layer === undefined) return [];
    const way = relative(layer.lower, path);
    const found = withoutLinks(view.merged(layer), way);
    if (found === null) return [];
    const shown = relative(view.merged(layer), found.path);
    const isFolder = lstatSync(found.path).isDirectory();
    // A command can open a folder that is closed now, so that folder is masked as a whole.
    if (shown === way && isFolder === files.has(path)) return [];
    const target = join(layer.lower, shown);
    return [{ target, source: isFolder ? maskFolder : maskOf(path) }];
  });
  const unique = [...new Map(masks.map((mask) => [mask.target, mask])).values()];
  const shown = mountMasks(
    unique.filter(({ target }) => !unique.some((other) => other.target !== target && isBelow(other.target, target))),
  );
  return {
    mounts: [
      ...(engine.name === "docker" ? overlays.map(overlayVolume) : []),
      { Type: "bind", Source: join(view.folder, temporaryName), Target: "/tmp", BindOptions: { Propagation: "rprivate" } },
      ...shown.mounts,
    ],
    // Podman would give a volume of this form to another user.
    binds: [
      ...(engine.name === "podman" ? overlays.map(({ lower, options }) => `${lower}:${lower}:O,${options.join(",")}`) : []),
      ...shown.binds,
    ],
    bound: view.layers.map(({ lower }) => ({ source: lower, target: lower })),
    masks: unique,
    hasTemporaryFolder: true,
    fingerprint: "",
  };
}

/** A volume without a name, which the engine removes with the container. */
function overlayVolume({ lower, options }: { lower: string; options: readonly string[] }): Dockerode.MountSettings {
  const o = [`lowerdir=${lower}`, ...options, "userxattr", "volatile"].join(",");
  return {
    Type: "volume",
    Source: "",
    Target: lower,
    VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: "local", Options: { type: "overlay", device: "overlay", o } } },
  };
}
