import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/**
 * Loads SQLite's native addon. The bundle (`dist/host/*.js`, with chunks one folder deeper) uses `dist/native/better_sqlite3.node`,
 * which the build copies there. When run from source there is no such file, and better-sqlite3 loads its own prebuild (`null`).
 */
export function nativeBinding(moduleUrl: string = import.meta.url): object | null {
  for (const relative of ["../native/better_sqlite3.node", "../../native/better_sqlite3.node"]) {
    const file = fileURLToPath(new URL(relative, moduleUrl));
    // Passed as an object, because the package's own `require` does not work in an ESM bundle.
    if (existsSync(file)) return createRequire(moduleUrl)(file) as object;
  }
  return null;
}
