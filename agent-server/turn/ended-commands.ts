import { notice, type Run, type TurnDeps } from "../quests/quests.ts";

/** Adds to the conversation which background commands ended without the model's doing, once, with their last lines as data. */
export function tellEndedCommands({ store, tools, sanitizer }: Pick<TurnDeps, "store" | "tools" | "sanitizer">, run: Run): void {
  const { questId } = run;
  const ended = tools.background.takeEnds(questId);
  if (ended.length === 0) return;
  store.addMessage({
    questId,
    role: "user",
    parts: [notice("info", "Lancelot told the model that a background command ended.")],
    turn: {
      kind: "user",
      content: ended.flatMap(({ id, state, output }) => {
        const findings = sanitizer.inspect(output).findings.map(({ rule }) => rule);
        return [
          {
            type: "text" as const,
            text: `[Background command ${id}: ${state}. ${output === "" ? "It printed nothing." : "Its last output follows."}]`,
          },
          ...(output === ""
            ? []
            : [
                {
                  ...{ type: "text" as const, text: output, attached: true, source: `the background command ${id}` },
                  ...(findings.length === 0 ? {} : { findings }),
                },
              ]),
        ];
      }),
    },
  });
}
