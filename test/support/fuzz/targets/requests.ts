import * as fc from "fast-check";
import * as z from "zod";
import { estimateTokens } from "../../../../agent-server/context/tokens.ts";
import type { Handlers } from "../../../../agent-server/contract/table.ts";
import { methods } from "../../../../agent-server/contract/table.ts";
import { createDispatch } from "../../../../agent-server/gateway/dispatch.ts";
import { answerRpc, parseFailure } from "../../../../agent-server/gateway/json-rpc.ts";
import { createPathPolicy } from "../../../../agent-server/governance/policy/path-policy.ts";
import { supports } from "../../../../agent-server/memory/gates/evidence-support.ts";
import { ownerCommandsIn } from "../../../../agent-server/memory/quest/owner-command-forms.ts";
import { parseQuery } from "../../../../agent-server/memory/search/search-query.ts";
import { extractByRules } from "../../../../agent-server/models/tasks/extract-rules.ts";
import { intentByRules } from "../../../../agent-server/models/tasks/intent-rules.ts";
import { summarizeByRules } from "../../../../agent-server/models/tasks/summary-rules.ts";
import { sizeOf } from "../../../../agent-server/models/router/request-features.ts";
import { taskTypeOf } from "../../../../agent-server/models/router/task-type.ts";
import { findMentions } from "../../../../agent-server/quests/attachments.ts";
import { findNamedFiles } from "../../../../agent-server/quests/named-files.ts";
import { asksToCompact, expandSlashCommand } from "../../../../agent-server/quests/slash-commands.ts";
import { ruleSentences } from "../../../../agent-server/quests/user-statements.ts";
import { rareWords } from "../../../../agent-server/turn/small-model.ts";
import { createPathWorkspace } from "../../path-workspace.ts";
import type { Call, Target } from "../target.ts";

const messages = [
  "Read src/main.ts and @src/util.ts, then fix the failing test in `a.test.ts`. Do not touch package.json.",
  "/remember that we always use pnpm; forget the old rule",
  "/review src\n> quoted text\n```ts\nconst x = 1;\n```\nthanks!",
  'Look at the README and @"a b.txt". Why does `npm test` fail? E: Error: x at y (z.js:1:2)',
  "Bitte lies die Datei src/main.ts. Immer Tabs verwenden, niemals Leerzeichen!",
  "name: Jane, version = 1.2.3, port is 8080, enabled: true",
];
const messageWords = [
  "@",
  '@"',
  "/",
  "`",
  "```",
  "> ",
  "read ",
  "remember that ",
  "forget ",
  ". ",
  "? ",
  "\n",
  "src/",
  ".ts",
  "…",
  "don't ",
  "è",
  "读",
];

const request = fc.record(
  {
    jsonrpc: fc.constantFrom("2.0", "1.0", 2),
    id: fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.jsonValue()),
    method: fc.oneof(fc.constantFrom(...Object.keys(methods), "lancelot/host.info", "__proto__", "constructor", ""), fc.string()),
    params: fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom<unknown>({}, [], { id: "x" }, { text: "x", path: "../x" })),
  },
  { requiredKeys: ["method"] },
);
const rpc = fc.oneof(request, fc.array(request, { maxLength: 120 })).map((body) => JSON.stringify(body));

/** A call whose handlers all fail: what reaches them is judged by the contract alone. */
function answering(): Call {
  const failing = new Proxy({}, { get: () => () => Promise.reject(new TypeError("the handler was reached")) }) as Handlers;
  const dispatch = createDispatch(failing, () => undefined);
  return async (input) => {
    let body: unknown;
    try {
      body = JSON.parse(input);
    } catch {
      return parseFailure();
    }
    return JSON.stringify(await answerRpc(body, dispatch, { owner: true, signal: new AbortController().signal }));
  };
}

/** A function over the text of a message; each is a target of its own, so that the slow one is known. */
const words = (name: string, call: (text: string) => unknown, longest = 100_000): Target => ({
  name: `messages, ${name}`,
  samples: messages,
  words: messageWords,
  longest,
  open: () => call,
});

const inWorkspace = (
  name: string,
  find: (text: string, policy: { resolvePath: ReturnType<typeof createPathPolicy>["resolve"] }) => unknown,
): Target => ({
  name: `messages, ${name}`,
  samples: messages,
  words: messageWords,
  open: async () => {
    const policy = createPathPolicy({ ...(await createPathWorkspace()), platform: "linux" });
    return (input) => find(input, { resolvePath: policy.resolve });
  },
});

const anything = z.looseObject({});

export const requestTargets: readonly Target[] = [
  {
    name: "JSON-RPC, single and batch",
    samples: [
      '{"jsonrpc":"2.0","id":1,"method":"host.info"}',
      '[{"jsonrpc":"2.0","id":1,"method":"quests.list","params":{"limit":5}},{"jsonrpc":"2.0","method":"health.live"}]',
      '{"jsonrpc":"2.0","id":"a","method":"quests.send","params":{"id":"q","text":"hi","attachments":[{"type":"file","path":"a"}]}}',
      '{"jsonrpc":"2.0","id":2,"method":"memory.edit","params":{"op":"insert","content":"x","tier":"core"}}',
    ],
    grammar: rpc,
    words: ['"method":', '"params":', '"id":', '"jsonrpc":"2.0"', "null", "[", "{", "1e400", '"\\ud800"', '"__proto__":', '"toString"'],
    longest: 300_000,
    open: answering,
  },
  words("intent", intentByRules),
  words("kind of task", (text) => [taskTypeOf({ text }), sizeOf(text)]),
  words("commands of the owner", ownerCommandsIn),
  words("rules", (text) => [ruleSentences(text), expandSlashCommand(text), asksToCompact(text), rareWords(text)]),
  words("summary", (text) => summarizeByRules(text, 100), 60_000),
  words("tokens", estimateTokens),
  words("fields", (text) =>
    extractByRules(
      text,
      {
        type: "object",
        properties: {
          name: { type: "string" },
          port: { type: "integer" },
          at: { type: "string", format: "date-time" },
          on: { type: "boolean" },
          tags: { type: "array", items: { type: "string" } },
        },
      },
      anything,
    ),
  ),
  words("search in memory", parseQuery, 20_000),
  words("evidence of a memory", (text) => [supports(text, messages.join(" ")), supports("We use pnpm.", text)], 20_000),
  inWorkspace("mentions", findMentions),
  inWorkspace("named files", findNamedFiles),
];
