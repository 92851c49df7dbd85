// @module-tag local-model
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openWindow, type Window } from "../support/host/window.ts";
import { localDataDir, prepareLocalModel } from "../support/models/local-models.ts";

const missing = await prepareLocalModel();
const file = "tinyllama-1.1b-chat-IQ2_XXS.gguf";

/** A whole host without a key, a cloud or a network: TinyLlama alone. */
describe.skipIf(missing !== null)("a host with nothing but the local model", () => {
  let base = "";
  let at: Window;
  beforeAll(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-local-")));
    mkdirSync(join(base, "proj/src"), { recursive: true });
    writeFileSync(join(base, "proj/src/price.ts"), "export const vat = 0.19;\n");
    mkdirSync(join(base, "data/models"), { recursive: true });
    symlinkSync(join(localDataDir, "runtime"), join(base, "data/runtime"));
    symlinkSync(join(localDataDir, "models", file), join(base, "data/models", file));
    at = await openWindow({ workspace: join(base, "proj"), dataDir: join(base, "data"), env: { PATH: process.env["PATH"] } });
  });
  afterAll(async () => {
    await at.close();
    rmSync(base, { recursive: true, force: true });
  });
  const receipts = async () =>
    (await at.call("receipts.search", { limit: 500 })).items.map(({ actionName, status }) => `${actionName} ${status}`);

  it("is ready, and loads it by hand", async () => {
    expect(await at.call("health.ready", {})).toMatchObject({ ready: true, localLlmReady: true, degradedReasons: [] });
    const { status, loaded, fit } = await at.call("models.local.load", {});
    expect(status).toBe("loaded");
    expect(loaded).toMatchObject({ contextSize: 2_048, queued: 0 });
    expect(fit).toMatch(/This machine has .* TinyLlama 1\.1B Chat fits/);
    expect(await receipts()).toContain("models.local.load success");
  });

  it("works on a task with a tool and answers", async () => {
    const { questId } = await at.call("chat.send", { text: "What is in the file src/price.ts?" });
    await at.until(async () => (await at.call("quests.get", { id: questId })).quest.status !== "active");
    const { quest, messages } = await at.call("quests.get", { id: questId });
    expect(quest.status).toBe("done");
    const answer = messages.findLast(({ role }) => role === "assistant");
    expect(answer?.parts.map((part) => (part.type === "text" ? part.text : "")).join("").length).toBeGreaterThan(0);
    const { items } = await at.call("receipts.search", { questId, limit: 100 });
    const names = items.map(({ actionType, actionName, status }) => `${actionType} ${actionName} ${status}`);
    expect(names).toContainEqual(expect.stringMatching(/^llm_call local.* success$/));
    expect(names).toContainEqual(expect.stringMatching(/read_file success$/));
    expect((await at.call("models.local", {})).loaded?.tokensPerSecond).toBeGreaterThan(0);
  });

  it.runIf(process.platform === "linux")("lives when the model's process is killed, says so, and answers again", async () => {
    process.kill(modelProcess(), "SIGKILL");
    await vi.waitFor(async () =>
      expect((await at.call("health.ready", {})).degradedReasons).toEqual([
        expect.stringMatching(/^Local model: .*ended unexpectedly \(SIGKILL\).*next request restarts it/),
      ]),
    );
    const { items } = await at.call("tools.doctor", {});
    expect(items.find(({ id }) => id === "local-model")).toMatchObject({
      status: "warning",
      nextStep: expect.stringContaining("next request"),
    });
    expect((await at.call("models.local.load", {})).status).toBe("loaded");
    expect((await at.call("health.ready", {})).degradedReasons).toEqual([]);
  });

  it("unloads and deletes it at the owner's request, and says what to do next", async () => {
    expect((await at.call("models.local.unload", {})).status).toBe("ready");
    expect((await at.call("models.local.delete", {})).status).toBe("absent");
    expect([existsSync(join(base, "data/models", file)), existsSync(join(localDataDir, "models", file))]).toEqual([false, true]);
    expect(await receipts()).toEqual(expect.arrayContaining(["models.local.unload success", "models.local.delete success"]));
    const { ready, localLlmReady, degradedReasons } = await at.call("health.ready", {});
    expect([ready, localLlmReady]).toEqual([false, false]);
    expect(degradedReasons.join(" ")).toMatch(/download the local model/);
  });
});

/** The child of this process that holds the model. */
function modelProcess(): number {
  const children = readdirSync(`/proc/${process.pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${process.pid}/task/${task}/children`, "utf8")
      .trim()
      .split(/\s+/)
      .filter((pid) => pid !== "")
      .map(Number),
  );
  const found = children.find((pid) =>
    /local-model\.js|models\/local\/model-worker\.ts/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")),
  );
  if (found === undefined) throw new Error("the model's process does not run");
  return found;
}
