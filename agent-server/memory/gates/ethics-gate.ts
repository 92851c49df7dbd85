import type { MemoryDeps } from "../types.ts";
import { type GateInput, refuse, type GateStep } from "./gate-step.ts";

/** Contents that the soul forbids. Personal content is allowed when the owner states it themselves. */
export function checkEthics(input: GateInput, forbids: MemoryDeps["forbids"]): GateStep {
  const { edit, author } = input;
  for (const text of [
    [edit.content ?? "", edit.selector ?? ""].join("\n"),
    [edit.reason, ...edit.tags, edit.provenance.ref ?? ""].join("\n"),
  ]) {
    const found = text.trim() === "" ? null : forbids(text);
    if (found === null || (found.personal && author.by === "owner")) continue;
    return refuse(
      found.rule,
      found.message,
      "Leave the sensitive part out.",
      ...(found.personal ? ["Let the owner say “remember that …” themselves."] : []),
    );
  }
  return input;
}
