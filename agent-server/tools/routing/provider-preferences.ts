import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { type Capability, capabilities } from "./capabilities.ts";
import { createConfigFile } from "../../storage/storage.ts";
import { parseShipped } from "../../shipped-yaml.ts";

const Names = z.array(z.string().min(1).max(100)).max(50).default([]);
const names = Object.keys(capabilities) as [Capability, ...Capability[]];

const ToolsTable = z.strictObject({
  version: z.literal(1),
  capabilities: z.partialRecord(z.enum(names), z.strictObject({ order: Names, off: Names })).default({}),
});

/** The user's order of providers, and the providers they turned off. */
export interface Preferences {
  /** The position in the list for the capability; null when it is not listed. */
  place(capability: Capability, provider: string): number | null;
  off(capability: Capability, provider: string): boolean;
  /** Why the user's file cannot be used; null when it can. */
  problem(): string | null;
}

/**
 * The shipped `config/tools.yaml` merged with the user's file: an order in the user's file replaces the shipped one of that capability,
 * and the providers that are off are combined. The user's file is read again when it changes.
 * @throws Error when the shipped file cannot be used.
 */
export function createPreferences(deps: { configDir: string | null; dataDir: string }): Preferences {
  const shipped = ToolsTable.parse(
    deps.configDir === null ? { version: 1 } : parseShipped(readFileSync(join(deps.configDir, "tools.yaml"), "utf8")).value,
  );
  const owners = createConfigFile({ dataDir: deps.dataDir, name: "tools.yaml", schema: ToolsTable, fallback: { version: 1 } });
  return {
    place(capability, provider) {
      const own = owners.read().value?.capabilities[capability]?.order ?? [];
      const order = own.length > 0 ? own : (shipped.capabilities[capability]?.order ?? []);
      const at = order.indexOf(provider);
      return at === -1 ? null : at;
    },
    off: (capability, provider) =>
      [shipped, owners.read().value].some((table) => table?.capabilities[capability]?.off.includes(provider) === true),
    problem: () => owners.read().problem,
  };
}
