import * as z from "zod";
import { CoreBlockName, MemoryKind, MemoryTier, Provenance } from "../../contract/memory.ts";
import type { AuditDeps } from "./audit-deps.ts";
import type { JobYield } from "./job-yield.ts";

/** The stored form of an item before or after a commit. */
const Image = z.object({
  id: z.string(),
  tier: MemoryTier,
  block: CoreBlockName.nullable(),
  namespace: z.string(),
  workspace: z.string(),
  kind: MemoryKind,
  content: z.string(),
  ref: z.string().nullable(),
  confidence: z.number(),
  tags: z.array(z.string()),
  provenance: Provenance,
  questId: z.string().nullable(),
  commitId: z.string(),
  version: z.int(),
  createdAt: z.number(),
  updatedAt: z.number(),
  expiresAt: z.number().nullable(),
});

const page = 500;

interface Row {
  rowid: number;
  commit_id: string;
  item_id: string;
  before: string | null;
  after: string | null;
}

/** Finds unreadable images: their commits cannot be rolled back. */
export async function auditImages({ storage }: Pick<AuditDeps, "storage">, jobYield: JobYield): Promise<string[]> {
  const rows = storage.db.prepare<[number, number], Row>(
    "SELECT rowid, commit_id, item_id, before, after FROM memory_images WHERE rowid > ? ORDER BY rowid LIMIT ?",
  );
  const broken = new Set<string>();
  for (let after = 0; ; ) {
    const some = rows.all(after, page);
    const end = some.at(-1)?.rowid;
    if (end === undefined) break;
    after = end;
    for (const row of some) if (!isImage(row.before, row.item_id) || !isImage(row.after, row.item_id)) broken.add(row.commit_id);
    await jobYield.pause();
  }
  return [...broken].map((id) => `The changes of commit ${id} are unreadable, so it cannot be rolled back.`);
}

function isImage(text: string | null, itemId: string): boolean {
  if (text === null) return true;
  try {
    return Image.safeParse(JSON.parse(text)).data?.id === itemId;
  } catch {
    return false;
  }
}
