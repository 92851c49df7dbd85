import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noUsage, type Usage } from "../../../../agent-server/contract/chat.ts";
import { createUsage, type CountedCall, type NextCall, usageMigrations } from "../../../../agent-server/models/usage/usage.ts";
import { openStorage, type Storage } from "../../../../agent-server/storage/storage.ts";

const configDir = join(import.meta.dirname, "../../../../config");

/** A data folder with books in it, and a clock that stands still. */
export function openBooks(options: { timeZone?: string; at?: string; titles?: Record<string, string>; env?: Record<string, string> } = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), "lancelot-usage-"));
  mkdirSync(join(dataDir, "config"));
  const storages: Storage[] = [];
  const reported: (string | null)[] = [];
  const clock = { at: new Date(options.at ?? "2026-11-22T12:00:00Z") };
  return {
    dataDir,
    reported,
    clock,
    /** One window; each has a database connection of its own. */
    open() {
      const storage = openStorage({ dataDir, migrations: usageMigrations });
      storages.push(storage);
      const book = createUsage({
        storage,
        configDir,
        dataDir,
        env: options.env ?? {},
        emit: (topic, payload) => {
          if (topic === "usage") reported.push((payload as { questId: string | null }).questId);
        },
        questName: (id) => options.titles?.[id] ?? null,
        timeZone: options.timeZone ?? "UTC",
        now: () => clock.at,
      });
      return { storage, book };
    },
    write: (name: string, text: string) => writeFileSync(join(dataDir, "config", name), text),
    remove() {
      for (const storage of storages) storage.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
export type Books = ReturnType<typeof openBooks>;

export function usageOf(usage: Partial<Usage>): Usage {
  return { ...noUsage(), ...usage };
}

export function call(of: Partial<Omit<CountedCall, "usage">> & { usage: Partial<Usage> }): CountedCall {
  return {
    questId: "q1",
    provider: "anthropic",
    kind: "anthropic",
    model: "claude-sonnet-5-5",
    lane: "flagship_fast",
    receiptId: null,
    ...of,
    usage: usageOf(of.usage),
  };
}

export function next(of: Partial<NextCall> = {}): NextCall {
  return {
    questId: "q1",
    provider: "anthropic",
    kind: "anthropic",
    model: "claude-sonnet-5-5",
    inputTokens: 100_000,
    maxTokens: 10_000,
    ...of,
  };
}
