import type { Target } from "./target.ts";

/** Every parser and boundary that is fuzzed in a thread, by group; those of the running host are in gateway-targets.ts. Loaded when needed. */
const groups = {
  security: async () => (await import("./targets/security.ts")).securityTargets,
  governance: async () => (await import("./targets/governance.ts")).governanceTargets,
  text: async () => (await import("./targets/text.ts")).textTargets,
  streams: async () => (await import("./targets/streams.ts")).streamTargets,
  config: async () => (await import("./targets/config.ts")).configTargets,
  requests: async () => (await import("./targets/requests.ts")).requestTargets,
  transfer: async () => (await import("./targets/transfer.ts")).transferTargets,
  views: async () => (await import("./targets/views.ts")).viewTargets,
} satisfies Record<string, () => Promise<readonly Target[]>>;

export type Group = keyof typeof groups;

export const groupNames: readonly Group[] = Object.keys(groups).filter((name): name is Group => Object.hasOwn(groups, name));

/** @param part only targets whose name contains it */
export async function targetsOf(group: Group, part = ""): Promise<readonly Target[]> {
  return (await groups[group]()).filter(({ name }) => name.includes(part));
}
