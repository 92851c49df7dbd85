import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { MemoryItem } from "../../../agent-server/contract/memory.ts";
import type { Params, Result } from "../../../agent-server/contract/table.ts";
import type { MemoryService } from "../../../agent-server/tools/tools.ts";

export function anItem(of: Partial<MemoryItem> & Pick<MemoryItem, "id" | "content">): MemoryItem {
  const at = new Date(0).toISOString();
  return {
    ...{ tier: "archival", block: null, namespace: "workspace", kind: "fact", confidence: 1, weight: 1, tags: [] },
    ...{ provenance: { source: "user" }, questId: null, commitId: "c", version: 1, createdAt: at, updatedAt: at },
    ...{ reinforcedAt: at, reinforced: 0, expiresAt: null },
    ...of,
  };
}

type Edited = Result<"memory.edit">;

/** A memory service that records its calls, and answers each edit as the test says. */
export function recordingService(
  onEdit: (params: Params<"memory.edit">) => Partial<Edited> | Error = () => ({}),
  onForget: (id: string) => MemoryItem | null = (id) => anItem({ id, content: id }),
) {
  const calls: { name: string; by: string; params: unknown }[] = [];
  const edits: Params<"memory.edit">[] = [];
  const outcomes: Edited[] = [];
  const never = (): never => {
    throw new LancelotError("internal", "This is not called here.");
  };
  const diffOf = ({ target, content }: { target: Edited["target"]; content?: string | null | undefined }): Edited["diff"][number] => ({
    ...{
      itemId: `i${String(edits.length)}`,
      target,
      namespace: target === "core:human" ? "global" : "workspace",
      op: "insert",
      before: null,
    },
    ...{ after: content ?? null, confidence: 1, provenance: { source: "user" }, reason: "r" },
  });
  const service: MemoryService = {
    begin(params, { actor }) {
      calls.push({ name: "begin", by: actor, params });
      return Promise.resolve({ commitId: "commit" });
    },
    async edit(params, { actor, signal }) {
      signal.throwIfAborted();
      calls.push({ name: "edit", by: actor, params });
      edits.push(params);
      const answer = onEdit(params);
      if (answer instanceof Error) throw answer;
      const alone = params.commitId === undefined;
      const made: Edited = {
        ...{ commitId: "commit", index: 0, outcome: "staged", target: params.target, content: params.content ?? null, notes: [] },
        ...{ quarantineId: null, finished: alone, diff: alone ? [diffOf(params)] : [] },
        ...answer,
      };
      outcomes.push(made);
      return made;
    },
    finish(commitId, { actor }) {
      calls.push({ name: "finish", by: actor, params: commitId });
      const staged = outcomes.filter(({ outcome }) => outcome === "staged");
      const waiting = outcomes.filter(({ outcome }) => outcome === "quarantined");
      return Promise.resolve({
        commitId,
        diff: staged.map((one) => diffOf(one)),
        quarantined: waiting.map(({ content, target }, index) => ({
          ...{
            id: `w${String(index)}`,
            op: "insert",
            target,
            namespace: "global",
            itemId: null,
            content,
            current: null,
            kind: "fact",
            tags: [],
          },
          ...{
            confidence: 1,
            provenance: { source: "user" },
            reason: "r",
            why: "w",
            verifier: { ok: true, problems: [] },
            status: "pending",
          },
          ...{ questId: null, commitId, promotedBy: null, createdAt: "", decidedAt: null, decidedReason: null },
        })),
        receiptId: "r",
      });
    },
    abandon(commitId, { actor }) {
      calls.push({ name: "abandon", by: actor, params: commitId });
      return Promise.resolve({ ok: true });
    },
    forget(params, { actor }) {
      calls.push({ name: "forget", by: actor, params });
      return Promise.resolve({ commitId: "commit", forgotten: "id" in params ? onForget(params.id) : null, candidates: [] });
    },
    ...{
      rollback: never,
      promote: never,
      deny: never,
      quarantineItem: never,
      remember: never,
      export: never,
      import: never,
      runJob: never,
    },
  };
  return { service, calls, edits };
}
