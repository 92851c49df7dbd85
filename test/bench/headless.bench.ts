import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../support/model-server/server.ts";
import { projectNode, root } from "../support/setup/project.mjs";
import { type BenchRow, quick } from "./bench-row.ts";

const rounds = quick ? 5 : 15;
const model = "some-model";

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** One whole `lancelot chat` against a model that answers at once, beside a program that makes the same request with the bare SDK. */
export async function run(): Promise<BenchRow[]> {
  const server = await startModelServer({ script: () => ({ text: "Done." }) });
  const folder = mkdtempSync(join(tmpdir(), "lancelot-bench-"));
  const url = server.url("openai_compatible");
  // In the checkout, for its packages.
  mkdirSync(join(root, "test-output"), { recursive: true });
  const bare = join(root, "test-output", `bare-request-${process.pid}.mjs`);
  try {
    mkdirSync(join(folder, "data/config"), { recursive: true });
    mkdirSync(join(folder, "workspace"));
    writeFileSync(
      join(folder, "data/config/models.yaml"),
      `active: work\nproviders: { work: { kind: openai_compatible, mode: api, base_url: "${url}", fast: { model: ${model} } } }\n`,
    );
    writeFileSync(
      bare,
      `import { OpenAI } from "openai";
       const openai = new OpenAI({ apiKey: "key", baseURL: ${JSON.stringify(url)}, maxRetries: 0 });
       const stream = await openai.chat.completions.create({ model: "${model}", stream: true, messages: [{ role: "user", content: "Hello" }] });
       for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "");`,
    );
    const time = async (args: readonly string[]): Promise<number> => {
      const from = performance.now();
      const child = spawn(projectNode(), args, { stdio: ["ignore", "pipe", "inherit"], cwd: root });
      let text = "";
      child.stdout.on("data", (data) => {
        text += String(data);
      });
      const [code] = await once(child, "close");
      if (code !== 0 || !text.includes("Done.")) throw new Error(`the program ended with ${code}: ${text}`);
      return performance.now() - from;
    };
    const chat = [
      join(root, "dist/host/cli.js"),
      "chat",
      "Hello",
      "--workspace",
      join(folder, "workspace"),
      "--data",
      join(folder, "data"),
    ];
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = -1; round < rounds; round += 1) {
      const [one, other] = [await time(chat), await time([bare])];
      // The first of each fills the compile cache.
      if (round < 0) continue;
      ours.push(one);
      theirs.push(other);
    }
    const [turn, request] = [median(ours), median(theirs)];
    return [
      {
        name: "headless turn",
        ours: turn,
        bare: request,
        ratio: turn / request,
        unit: "ms",
        note: "a whole `lancelot chat`, beside a program that makes one request with the SDK",
      },
    ];
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
    rmSync(bare, { force: true });
  }
}
