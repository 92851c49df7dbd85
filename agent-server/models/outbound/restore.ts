import { createRestorer, type QuestPlaceholders } from "../../security/security.ts";
import type { ModelEvent } from "../request.ts";
import { restoreAnswer } from "./texts.ts";

/**
 * Restores personal data in an answer while it streams. The possible beginning of a placeholder is held back; without hidden values, events
 * pass unchanged.
 */
export async function* restoreEvents(events: AsyncIterable<ModelEvent>, quest: QuestPlaceholders): AsyncGenerator<ModelEvent> {
  let restorer = createRestorer(quest);
  let kind: "text" | "thinking" = "text";
  const rest = (): ModelEvent[] => {
    const text = restorer.end();
    return text === "" ? [] : [{ type: kind, text }];
  };
  for await (const event of events) {
    if (event.type === "text" || event.type === "thinking") {
      if (event.type !== kind) yield* rest();
      kind = event.type;
      const text = restorer.add(event.text);
      if (text === event.text) yield event;
      else if (text !== "") yield { type: kind, text };
    } else if (event.type === "retry") {
      // The streamed text of the failed attempt is discarded.
      restorer = createRestorer(quest);
      yield event;
    } else if (event.type === "done") {
      yield* rest();
      const restored = (text: string): string => quest.restorePersonal(text);
      yield {
        ...event,
        content: event.content.map((part) => restoreAnswer(part, restored)),
        malformed: event.malformed.map((call) => ({ ...call, raw: restored(call.raw) })),
      };
    } else yield event;
  }
}
