import { realpathSync, statSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";

/** Where tool managers keep their programs; told to commands so that they find them, since the home folder of a command is another. */
const managers = [
  { name: "RUSTUP_HOME", folder: ".rustup" },
  { name: "PYENV_ROOT", folder: ".pyenv" },
  { name: "ASDF_DATA_DIR", folder: ".asdf" },
  { name: "VOLTA_HOME", folder: ".volta" },
  { name: "RBENV_ROOT", folder: ".rbenv" },
  { name: "DOTNET_ROOT", folder: ".dotnet" },
] as const;

/**
 * The folders of `readable_folders` that are there, with links resolved: programs of the owner's home that commands in the OS sandbox may
 * read. One that holds the workspace, the data folder or the whole home is left out: it would show far more than programs.
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

/** The owner's environment with the places of tool managers named, where those lie in folders that commands may read. */
export function toolchainEnvironment(env: NodeJS.ProcessEnv, home: string, readable: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    managers.flatMap(({ name, folder }) => {
      const place = env[name] ?? join(home, folder);
      const real = resolved(place);
      return real !== null && readable.some((one) => holds(one, real) || holds(real, one)) ? [[name, place]] : [];
    }),
  );
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
