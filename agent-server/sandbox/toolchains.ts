import { realpathSync, statSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";

/** Variables with which tool managers locate their programs. Commands need them because their home folder is a different one. */
const managers = [
  { name: "RUSTUP_HOME", folder: ".rustup" },
  { name: "PYENV_ROOT", folder: ".pyenv" },
  { name: "ASDF_DATA_DIR", folder: ".asdf" },
  { name: "VOLTA_HOME", folder: ".volta" },
  { name: "RBENV_ROOT", folder: ".rbenv" },
  { name: "DOTNET_ROOT", folder: ".dotnet" },
] as const;

/**
 * Existing folders of `readable_folders`, with links resolved: programs in the user's home that sandboxed commands may read. Folders that
 * contain the workspace, the data folder or the whole home are excluded, because they would expose far more than programs.
 */
export function readableFolders(
  configured: readonly string[],
  of: { readonly home: string; readonly workspace: string; readonly dataDir: string },
): string[] {
  const closed = [of.home, of.workspace, of.dataDir].flatMap((path) => resolved(path) ?? path);
  const found = configured.flatMap((named) => {
    const path = named.startsWith("~/") ? join(of.home, named.slice(2)) : named;
    const real = isAbsolute(path) ? resolved(path) : null;
    return real === null || closed.some((one) => holds(real, one)) ? [] : [real];
  });
  return [...new Set(found)];
}

/** The locations of tool managers in the user's environment, limited to folders that commands may read. */
export function toolchainEnvironment(env: NodeJS.ProcessEnv, home: string, readable: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    managers.flatMap(({ name, folder }) => {
      const place = env[name] ?? join(home, folder);
      const real = resolved(place);
      return real !== null && readable.some((one) => holds(one, real) || holds(real, one)) ? [[name, place]] : [];
    }),
  );
}

/** The tool managers whose programs commands may run. */
export function toolManagers(environment: Readonly<Record<string, string>>): string[] {
  return managers.flatMap(({ name, folder }) => (environment[name] === undefined ? [] : [folder.slice(1)]));
}

/** True when `path` is `folder` or lies in it. */
function holds(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function resolved(path: string): string | null {
  try {
    const real = realpathSync(path);
    return statSync(real).isDirectory() ? real : null;
  } catch {
    return null;
  }
}
