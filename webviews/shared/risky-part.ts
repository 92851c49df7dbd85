import { useEffect, useState } from "preact/hooks";
import type { CommandPart } from "../../agent-server/contract/governance.ts";
import type { Bridge } from "./bridge.ts";
import type { Emphasis } from "./exact-text.tsx";

/** Characters of a command that a card shows without scrolling in a narrow view. */
const shortCommand = 160;
const severity = { allow: 0, ask: 1, deny: 2 } as const;

/** The command in a command line that the strictest rule is about; null when no command is stricter than another. */
export function riskiestPart(parts: readonly CommandPart[]): Emphasis | null {
  const order = ({ verdict, tier }: CommandPart): string => `${String(severity[verdict])}${tier}`;
  const [first, ...others] = parts.toSorted((a, b) => order(b).localeCompare(order(a)));
  const last = others.at(-1);
  if (first === undefined || last === undefined || order(first) === order(last)) return null;
  return { text: first.text, reason: first.rule.message };
}

/** Asks policy which part of a long command the question is about; null until it answers, and for other actions. */
export function useRiskyPart(bridge: Bridge, capability: string, command: string): Emphasis | null {
  const [risky, setRisky] = useState<Emphasis | null>(null);
  useEffect(() => {
    setRisky(null);
    if (capability !== "shell_exec" || command.length <= shortCommand) return undefined;
    const stop = new AbortController();
    bridge.call("policy.explain", { command }, stop.signal).then(
      ({ parts }) => {
        if (!stop.signal.aborted) setRisky(riskiestPart(parts));
      },
      // Without it, the whole command is shown as it is.
      () => undefined,
    );
    return () => stop.abort();
  }, [bridge, capability, command]);
  return risky;
}
