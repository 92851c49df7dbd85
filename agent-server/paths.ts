import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Locations of Lancelot's own files, when it runs from the bundle (`dist/host/`) or from source. */
export interface ProductPaths {
  /** Folder with package.json, config/, soul/ and media/. */
  readonly root: string;
  readonly configDir: string;
  /** `dist/`; null when run from source. */
  readonly distDir: string | null;
  readonly ripgrepPath: string;
}

const ripgrepName = process.platform === "win32" ? "rg.exe" : "rg";

/** Locates the files by walking up from this module to the folder with `package.json` and `config/`. */
export function productPaths(): ProductPaths {
  const here = dirname(fileURLToPath(import.meta.url));
  let root = here;
  while (!existsSync(join(root, "package.json")) || !existsSync(join(root, "config"))) {
    const parent = dirname(root);
    if (parent === root)
      throw new Error(`Lancelot's files are incomplete: no folder above ${here} contains package.json and config/. Reinstall Lancelot.`);
    root = parent;
  }
  const fromSource = here.endsWith("agent-server");
  const packaged = join(root, "dist/native", ripgrepName);
  const installed = join(root, "node_modules/@vscode", `ripgrep-${process.platform}-${process.arch}`, "bin", ripgrepName);
  return {
    root,
    configDir: join(root, "config"),
    distDir: fromSource ? null : join(root, "dist"),
    ripgrepPath: fromSource && existsSync(installed) ? installed : packaged,
  };
}

/** The data folder of a host without an editor: `LANCELOT_DATA`, else the platform's folder for application data. */
export function defaultDataDir(env: NodeJS.ProcessEnv): string {
  if (env["LANCELOT_DATA"]) return env["LANCELOT_DATA"];
  if (process.platform === "darwin") return join(homedir(), "Library/Application Support/Lancelot");
  if (process.platform === "win32") return join(env["APPDATA"] || join(homedir(), "AppData/Roaming"), "Lancelot");
  return join(env["XDG_DATA_HOME"] || join(homedir(), ".local/share"), "lancelot");
}
