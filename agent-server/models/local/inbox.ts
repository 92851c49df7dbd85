import { LancelotError } from "../../contract/errors.ts";
import type { FromModel } from "./model-protocol.ts";
import type { Ending, ModelChild } from "./model-child.ts";
import type { GenerateEvent } from "./model-process.ts";

/** The messages of one request, in order; `next` rejects when the process ends or the request failed. `settled`: no more will come. */
export function createInbox(
  child: ModelChild,
  id: number,
  wordsOf: (ending: Ending) => LancelotError,
): { settled: Promise<void>; next(): Promise<GenerateEvent> } {
  const messages: GenerateEvent[] = [];
  let failure: LancelotError | undefined;
  let wake = Promise.withResolvers<void>();
  const settled = Promise.withResolvers<void>();
  const finish = () => {
    stopListening();
    settled.resolve();
    wake.resolve();
  };
  const stopListening = child.listen((message: FromModel) => {
    if (!("id" in message) || message.id !== id) return;
    if (message.type === "failed") {
      failure = new LancelotError(message.code, message.message, message.data === undefined ? {} : { data: message.data });
      return finish();
    }
    messages.push(message.type === "text" ? { type: "text", text: message.text } : message);
    if (message.type === "text") wake.resolve();
    else finish();
  });
  void child.ended.then((ending) => {
    failure ??= wordsOf(ending);
    finish();
  });
  return {
    settled: settled.promise,
    async next() {
      for (;;) {
        const message = messages.shift();
        if (message !== undefined) return message;
        if (failure !== undefined) throw failure;
        await wake.promise;
        wake = Promise.withResolvers<void>();
      }
    },
  };
}
