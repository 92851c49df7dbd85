// @module-tag serial
import { setTimeout as wait } from "node:timers/promises";
import Dockerode from "dockerode";
import { describe, expect, it, onTestFinished } from "vitest";
import { createProduct } from "../support/contained/product.ts";
import { createWorld } from "../support/contained/world.ts";
import { ourContainers, startEngine, toolsImage } from "../support/engine/engine.ts";
import { until } from "../support/sandbox/run.ts";
import { skippedWithout } from "../support/setup/machine.mjs";
import { moments, runs } from "../support/soak.ts";
import { bytePictureOf } from "../support/tools/byte-tree.ts";

const skipped = skippedWithout("engine");
const kills = runs(1, 200);
/** What is killed while a command works in a view: the engine, the first process of its container, or both. */
const victims = ["engine", "container", "both"] as const;
const command =
  'for i in $(seq 40); do echo "text $i" > "new-$i.txt"; sleep 0.01; done; rm README.md; mkdir -p made/deep; mv src made/deep/; git add -A >/dev/null 2>&1; git commit -qm All; echo end';
const listing = "find . -path ./.git -prune -o -path './*/.git' -prune -o -type f -print | sort";

describe.skipIf(skipped !== null)(`engines and containers${skipped === null ? "" : ` (skipped: ${skipped})`}`, () => {
  it(`killed at ${kills} random points of a command lose nothing and apply nothing by halves`, async () => {
    const world = createWorld();
    const engine = await startEngine({ images: [toolsImage] });
    const docker = new Dockerode({ socketPath: engine.socket });
    onTestFinished(async () => {
      await product.close();
      await engine.stop();
      world.close();
    });
    const product = createProduct(world, { address: `unix://${engine.socket}`, image: toolsImage });
    const { workspace } = world;
    const picture = (): Record<string, string> =>
      Object.fromEntries(Object.entries(bytePictureOf(workspace)).filter(([path]) => !/^\.\/\.git\/(objects|logs|index$)/.test(path)));
    const filesOf = (text: string): string[] => text.split("\n").filter((line) => line.startsWith("./"));
    const run = async (quest: string, line: string) => await product.run(quest, line, 60_000);
    const before = picture();
    const began = performance.now();
    await run("measured", command);
    const longestMs = (performance.now() - began) * 1.1;
    product.tools.execution.changes.review.discard("measured");
    let lost = 0;
    for (const [index, moment] of moments(kills).entries()) {
      const quest = `killed-${index}`;
      const victim = victims[index % victims.length] ?? "engine";
      const running = run(quest, command);
      await Promise.race([running, wait(moment * longestMs)]);
      if (victim !== "engine")
        for (const { Id } of await ourContainers(docker))
          await docker
            .getContainer(Id)
            .kill()
            .catch(() => undefined);
      if (victim !== "container") await engine.kill("SIGKILL");
      const { isFailed, told } = await running;
      lost += isFailed || !(told["live output"] ?? "").includes("end") ? 1 : 0;
      expect(picture()).toEqual(before);
      if (victim !== "container") await engine.start();
      // The next command of the task begins once the engine is there, and its view has what is proposed.
      const next = await until("the next command begins", async () => {
        const ran = await run(quest, listing);
        return ran.isFailed ? null : ran;
      });
      const shown = filesOf(next.told["live output"] ?? "");
      expect(shown.length).toBeGreaterThan(5);
      await product.acceptAll(quest);
      const applied = await run(`${quest}-applied`, listing);
      expect(filesOf(applied.told["live output"] ?? "")).toEqual(shown);
      await product.undo(quest);
      expect(picture()).toEqual(before);
    }
    expect(lost).toBeGreaterThanOrEqual(runs(0, 20));
    expect(await product.ledger.verify()).toMatchObject({ ok: true });
    expect(product.ledger.search({ status: "pending", limit: 10 }).items).toEqual([]);
  });
});
