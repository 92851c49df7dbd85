/**
 * `node test/bench/memory-recall.ts`: the labelled questions of test/fixtures/memory-recall, asked of the search, of the compiled
 * context and of @modelcontextprotocol/server-memory with the same memory. `-- --misses` names the questions without the right answer.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { minScore } from "../../agent-server/memory/search/memory-search.ts";
import { openCompilerFixture } from "../support/memory/compiler-fixture.ts";
import { corpusWorkspace } from "../support/memory/corpus.ts";
import { askCompiled, askSearch, figuresOf, judge, type PutForward, recallNow, recallSet, remember } from "../support/memory/recall-set.ts";
import { startReferenceServer } from "../support/memory/reference-server.ts";

const folder = mkdtempSync(join(tmpdir(), "lancelot-recall-"));
const fixture = openCompilerFixture({ dataDir: join(folder, "data"), workspace: corpusWorkspace, now: () => recallNow });
const set = recallSet();
const items = fixture.storage.transaction(() => remember(fixture.store, set.facts));
const judged = {
  search: judge(set, items, askSearch(fixture.search, minScore)),
  "compiled context": judge(set, items, askCompiled(fixture)),
  "server-memory": judge(set, items, await askReference()),
};
for (const [name, recalled] of Object.entries(judged)) {
  if (!process.argv.includes("--misses")) break;
  for (const { question, place, first, wrong } of recalled) {
    if (wrong === null && (question.answers.length === 0 || (place !== null && place <= 5))) continue;
    process.stdout.write(`${name}\t${wrong ?? "not found"}\t${question.ask}\t${first ?? ""}\n`);
  }
}
console.table(
  Object.fromEntries(
    Object.entries(judged).map(([name, recalled]) => [
      name,
      Object.fromEntries(Object.entries(figuresOf(recalled)).map(([figure, value]) => [figure, Number(value.toFixed(3))])),
    ]),
  ),
);
fixture.close();
rmSync(folder, { recursive: true, force: true });

/** What the reference server gives for the question as it is, and, when that is nothing, for its longest word: as an agent would ask. */
async function askReference(): Promise<(question: string) => { seen: PutForward[]; certain: PutForward[] }> {
  const everything = fixture.store.all(0, 100_000);
  const texts = new Map(everything.map((item) => [item.id, item.content]));
  const server = await startReferenceServer(folder, everything);
  const answers = new Map<string, PutForward[]>();
  for (const { ask } of set.questions) {
    const message = ask.match(/[\p{L}\p{N}_-]+/gu) ?? [];
    const longest = message.toSorted((a, b) => b.length - a.length)[0] ?? ask;
    const whole = await server.search(ask);
    const names = whole.length > 0 ? whole : await server.search(longest);
    answers.set(
      ask,
      names.slice(0, 10).map((itemId) => ({ itemId, text: texts.get(itemId) ?? "" })),
    );
  }
  await server.close();
  return (question) => ({ seen: answers.get(question) ?? [], certain: answers.get(question) ?? [] });
}
