import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/**
 * SQLite's native addon. In the bundle (`dist/host/*.js`) it is the one file the build copies to
 * `dist/native/better_sqlite3.node`; chunks of the bundle may lie one folder deeper. Run from the sources there is no such
 * file, and better-sqlite3 finds the prebuild of its own package (`null`).
 */
export function nativeBinding(moduleUrl: string = import.meta.url): object | null {
  for (const relative of ["../native/better_sqlite3.node", "../../native/better_sqlite3.node"]) {
    const file = fileURLToPath(new URL(relative, moduleUrl));
    // Loaded here and handed over as an object: the package's own `require` does not survive bundling to ESM.
    if (existsSync(file)) return createRequire(moduleUrl)(file) as object;
  }
  return null;
}
