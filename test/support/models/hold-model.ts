// Loads the tiny model, begins a reply and goes on for ever: a host for a test to kill. Prints the model process's id.
import { openLocal, tinyModel } from "./local-models.ts";

const local = openLocal({ env: { ...process.env, LANCELOT_LOCAL_MODEL: tinyModel() } });
const request = { system: "", messages: [{ role: "user" as const, content: [{ type: "text" as const, text: "Go on." }] }], tools: [] };
for (;;) {
  for await (const event of local.provider.stream(
    request,
    { model: "", maxTokens: 1_500, temperature: 1, thinking: undefined },
    new AbortController().signal,
  )) {
    if (event.type === "text" && local.pid() !== undefined) process.stdout.write(`${local.pid()}\n`);
  }
}
