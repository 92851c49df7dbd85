import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Message, Quest } from "../../../agent-server/contract/chat.ts";
import { projectNode, root } from "../setup/project.mjs";
import { sampleWorkspace, startServe, temporaryFolder, until } from "./built-host.ts";

const owner = "owner-token-of-this-test-0123456789abcdef";

/** A host and a model server in processes of their own. The model sends without end what a message names in brackets. */
export async function startRunawayHost() {
  const workspace = sampleWorkspace();
  const data = temporaryFolder("runaway");
  const script = join(root, "test/support/model-server/runaway-script.ts");
  const model = spawn(projectNode(), [join(root, "test/support/model-server/main.ts"), "--script", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = (await Promise.race([
    once(model.stdout, "data"),
    once(model, "exit").then(() => Promise.reject(new Error("the model server ended"))),
  ])) as [Buffer];
  const address = (JSON.parse(line.toString()) as Record<string, string>)["openai_compatible"] ?? "";
  mkdirSync(join(data.path, "config"), { recursive: true });
  writeFileSync(
    join(data.path, "config/models.yaml"),
    `active: work\nproviders:\n  work: { kind: openai_compatible, display_name: Work, base_url: "${address}", fast: { model: quick }, deep: { model: strong } }\n`,
  );
  writeFileSync(join(data.path, "config/router.yaml"), "retries: { tries: 2, base_seconds: 0 }\n");
  const server = await startServe({
    workspace: workspace.path,
    data: data.path,
    env: { LANCELOT_OWNER_TOKEN: owner, LANCELOT_RATE_LIMIT: "100000/60" },
  });

  async function rpc<Result>(method: string, params: unknown): Promise<Result> {
    const answer = await fetch(`${server.url}/rpc`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${owner}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await answer.json()) as { result?: Result; error?: unknown };
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }
  /** @param kind what the model sends; `silence` for nothing */
  const send = async (kind: string): Promise<string> => (await rpc<{ questId: string }>("chat.send", { text: `Go on (${kind}).` })).questId;

  return {
    data: data.path,
    server,
    send,
    questOf: (id: string) => rpc<{ quest: Quest; messages: Message[] }>("quests.get", { id }),
    /** Sends, and waits until the model has the request. */
    async sendAndWait(kind: string): Promise<string> {
      const questId = await send(kind);
      await until("the request", async () => {
        const { items } = await rpc<{ items: { actionName: string }[] }>("receipts.search", { questId, limit: 20 });
        return items.some(({ actionName }) => actionName === "work/quick");
      });
      return questId;
    },
    cancel: (questId: string) => rpc<Quest>("chat.cancel", { questId }),
    async stop(): Promise<void> {
      await server.stop();
      model.kill("SIGTERM");
      workspace[Symbol.dispose]();
      data[Symbol.dispose]();
    },
  };
}
