// @module-tag serial
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/host/built-host.ts";
import { startRunawayHost } from "../support/host/runaway-host.ts";
import { endless } from "../support/model-server/runaway.ts";
import { soak } from "../support/soak.ts";

// What a model that never ends does to the memory, the database and the other requests of a host.

let host: Awaited<ReturnType<typeof startRunawayHost>>;
beforeAll(async () => {
  host = await startRunawayHost();
});
afterAll(() => host.stop());

/** Asks for the host's health until `work` is over. @returns how often it answered */
async function healthDuring(work: Promise<unknown>): Promise<number> {
  const state = { isOver: false };
  let answers = 0;
  const over = work.finally(() => {
    state.isOver = true;
  });
  while (!state.isOver) {
    expect((await fetch(`${host.server.url}/health/live`)).status).toBe(200);
    answers += 1;
  }
  await over;
  return answers;
}

const databaseBytes = (): number =>
  readdirSync(host.data)
    .filter((name) => name.startsWith("lancelot.sqlite"))
    .reduce((sum, name) => sum + statSync(join(host.data, name)).size, 0);
/** The most memory that the host has had (bytes); null where the system does not tell. */
function peakMemory(): number | null {
  if (process.platform !== "linux") return null;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${String(host.server.child.pid)}/status`, "utf8"))?.[1] ?? 0) * 1024;
}

const few = [
  "text in small pieces",
  "text and thinking in turn",
  "arguments of one call",
  "calls",
  "one line",
  "unknown events",
  "an error body",
] as const;

describe("a host whose model never ends", () => {
  it.each(soak ? endless : few)("ends the task with a reason and answers meanwhile: %s", async (kind) => {
    const questId = await host.send(kind);
    const ended = until(`the end of ${kind}`, async () => (await host.questOf(questId)).quest.status === "failed", 500_000);
    expect(await healthDuring(ended)).toBeGreaterThan(0);
    const { quest, messages } = await host.questOf(questId);
    expect(quest.problem).toContain("Work");
    const last = messages.at(-1)?.parts ?? [];
    expect(last.at(-1)).toMatchObject({ type: "notice", action: expect.any(String) as string });
    const text = last.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
    expect(text).toBeLessThanOrEqual(500_000);
    if (kind === "text in small pieces") expect(text).toBe(500_000);
    expect(databaseBytes()).toBeLessThan(150_000_000);
    expect(peakMemory() ?? 0).toBeLessThan(900_000_000);
  });

  it.each(["text in small pieces", "one line", "comments", "silence"])("is stopped at once: %s", async (kind) => {
    const quest = await host.cancel(await host.sendAndWait(kind));
    // A fast model may have reached its limit before.
    if (quest.status !== "failed") expect(quest.status).toBe("cancelled");
    expect((await fetch(`${host.server.url}/health/live`)).status).toBe(200);
  });
});
