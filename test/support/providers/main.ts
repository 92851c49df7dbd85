/**
 * Asks every provider once, in the mode given (`sdk` or `api`), and prints as JSON which packages of SDKs were loaded for it:
 * `node test/support/providers/main.ts api`. A process of its own, as modules stay loaded.
 */
import { registerHooks } from "node:module";

const loaded = new Set<string>();
registerHooks({
  load(url, context, next) {
    const found = /node_modules\/(@anthropic-ai\/sdk|openai|@google\/genai)\//.exec(url)?.[1];
    if (found !== undefined) loaded.add(found);
    return next(url, context);
  },
});
const { inOrder } = await import("../model-server/script.ts");
const { collect, run, subjects } = await import("./subjects.ts");
const texts: string[] = [];
for (const subject of subjects.filter(({ mode }) => mode === process.argv[2])) {
  const { provider, server } = await run(subject, { script: inOrder({ text: "Done." }) });
  texts.push((await collect(provider, {}, { model: subject.model })).text);
  await provider.listModels(new AbortController().signal);
  await server.close();
}
console.log(JSON.stringify({ texts, loaded: [...loaded].toSorted() }));
process.exit(0);
