import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { type Change, Evidence, Hunk, HunkState } from "../../contract/changes.ts";
import type { Placeholders } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { FileImage } from "../checkpoints/file-image.ts";
import type { FilePath } from "../file-operations.ts";
import { applyHunks } from "../text/hunks.ts";
import type { Encoding } from "../text/encoding.ts";

/** A stored change: its texts and the fields that views show. */
export interface StoredChange {
  readonly id: string;
  readonly questId: string;
  readonly path: FilePath;
  readonly kind: Change["kind"];
  readonly status: Change["status"];
  /** The text the change was proposed against; null when the file did not exist. */
  readonly base: string | null;
  /** The text with every hunk applied; null for a deletion. */
  readonly proposed: string | null;
  readonly encoding: Encoding;
  readonly hunks: readonly Hunk[];
  /** Hunk index → state last reported to the model. */
  readonly told: Readonly<Record<string, HunkState>>;
  readonly receiptId: string | null;
  readonly problem: string | null;
  /**
   * For a change that is decided as a whole: what the path holds before and after, with contents in the object store. `base` and
   * `proposed` then describe them. Null for a text, which is decided hunk by hunk.
   */
  readonly images: ChangedImages | null;
  /** Permission bits that the accepted file gets; null keeps those it has. */
  readonly mode: number | null;
  /** The command that made the change; null for an edit. */
  readonly origin: string | null;
  /** Why the change is decided on its own; null for an ordinary one. */
  readonly caution: string | null;
  /** Tests that ran with exactly this change, oldest first. */
  readonly evidence: readonly Evidence[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface ChangedImages {
  readonly before: FileImage;
  readonly after: FileImage;
}

/** Database rows of one workspace's changes. */
export interface ChangeStore {
  /**
   * @throws LancelotError `unavailable` when the change was sealed with a key that no longer exists. The other methods skip such changes.
   */
  get(id: string): StoredChange | null;
  /** The undecided change of a file in a quest. */
  open(questId: string, absolute: string): StoredChange | null;
  list(filter: { questId?: string; open?: boolean; limit: number }): StoredChange[];
  save(change: StoredChange): void;
}

const ReportedStates = z.record(z.string(), HunkState);
const Hunks = z.array(Hunk);
const Image = z
  .object({ hash: z.string(), mode: z.int(), kind: z.enum(["link", "folder", "fifo", "socket", "device"]).optional() })
  .nullable();
const Images = z.object({ before: Image, after: Image });
const StoredEncoding = z.object({ name: z.enum(["utf8", "utf16le", "utf16be", "latin1"]), bom: z.boolean() });

interface Row {
  id: string;
  quest_id: string;
  absolute: string;
  path: string;
  kind: Change["kind"];
  status: Change["status"];
  base: string | null;
  proposed: string | null;
  encoding: string;
  hunks: string;
  told: string;
  receipt_id: string | null;
  problem: string | null;
  images: string | null;
  mode: number | null;
  origin: string | null;
  caution: string | null;
  evidence: string;
  created_at: string;
  updated_at: string;
}

/** @param sealing encrypts texts that contain a secret before they are stored */
export function createChangeStore(
  storage: Storage,
  workspace: string,
  sealing: Pick<Placeholders, "seal" | "open"> | undefined,
): ChangeStore {
  const { db } = storage;
  const fromRow = (row: Row | undefined): StoredChange | null => {
    if (row === undefined) return null;
    const [base, proposed, hunks, origin, evidence] = [row.base, row.proposed, row.hunks, row.origin, row.evidence].map((text) =>
      text === null ? null : open(text),
    );
    // The key that sealed this row no longer exists.
    if (hunks === undefined || hunks === null || (row.base !== null && base === null) || (row.proposed !== null && proposed === null))
      return null;
    return toStored({ ...row, base: base ?? null, proposed: proposed ?? null, origin: origin ?? null, hunks, evidence: evidence ?? "[]" });
  };
  const open = (text: string): string | null => (sealing === undefined ? text : sealing.open(text));
  const byId = db.prepare("SELECT * FROM changes WHERE workspace = ? AND id = ?");
  const openOne = db.prepare("SELECT * FROM changes WHERE workspace = ? AND quest_id = ? AND absolute = ? AND status = 'pending'");
  const select = db.prepare(
    `SELECT * FROM changes WHERE workspace = @workspace AND (@questId IS NULL OR quest_id = @questId)
     AND (@open IS NULL OR (status = 'pending') = @open) ORDER BY created_at DESC, rowid DESC LIMIT @limit`,
  );
  const upsert = db.prepare(
    `INSERT INTO changes (id, workspace, quest_id, absolute, path, kind, status, base, proposed, encoding, hunks, told, receipt_id, problem,
       images, mode, origin, caution, evidence, created_at, updated_at)
     VALUES (@id, @workspace, @questId, @absolute, @path, @kind, @status, @base, @proposed, @encoding, @hunks, @told, @receiptId, @problem,
       @images, @mode, @origin, @caution, @evidence, @createdAt, @updatedAt)
     ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, status = excluded.status, base = excluded.base, proposed = excluded.proposed,
       encoding = excluded.encoding, hunks = excluded.hunks, told = excluded.told, receipt_id = excluded.receipt_id,
       problem = excluded.problem, images = excluded.images, mode = excluded.mode, origin = excluded.origin,
       caution = excluded.caution, evidence = excluded.evidence, updated_at = excluded.updated_at`,
  );
  return {
    get(id) {
      const row = byId.get(workspace, id) as Row | undefined;
      const change = fromRow(row);
      if (row !== undefined && change === null) throw unreadableChange(row.path);
      return change;
    },
    open(questId, absolute) {
      return fromRow(openOne.get(workspace, questId, absolute) as Row | undefined);
    },
    list({ questId, open, limit }) {
      const rows = select.all({ workspace, questId: questId ?? null, open: open === true ? 1 : null, limit }) as Row[];
      return rows.flatMap((row) => fromRow(row) ?? []);
    },
    save(change) {
      const sealed = (text: string): string => sealing?.seal(text, change.questId) ?? text;
      upsert.run({
        id: change.id,
        workspace,
        questId: change.questId,
        absolute: change.path.absolute,
        path: change.path.display,
        kind: change.kind,
        status: change.status,
        base: change.base === null ? null : sealed(change.base),
        proposed: change.proposed === null ? null : sealed(change.proposed),
        encoding: JSON.stringify(change.encoding),
        hunks: sealed(JSON.stringify(change.hunks)),
        told: JSON.stringify(change.told),
        receiptId: change.receiptId,
        problem: change.problem,
        images: change.images === null ? null : JSON.stringify(change.images),
        mode: change.mode,
        origin: change.origin === null ? null : sealed(change.origin),
        caution: change.caution,
        evidence: sealed(JSON.stringify(change.evidence)),
        createdAt: change.createdAt,
        updatedAt: change.updatedAt,
      });
    },
  };
}

/** The change as views show it. `hide` masks the secrets in its lines; the review builds its diff from the stored texts. */
export function toChange(change: StoredChange, hide: (text: string) => string): Change {
  return {
    id: change.id,
    questId: change.questId,
    path: change.path.display,
    kind: change.kind,
    status: change.status,
    hunks: change.hunks.map((hunk) => ({ ...hunk, lines: hide(hunk.lines.join("\n")).split("\n") })),
    createdAt: change.createdAt,
    updatedAt: change.updatedAt,
    receiptId: change.receiptId,
    problem: change.problem,
    ...(change.images === null ? {} : { whole: true }),
    ...(change.origin === null ? {} : { origin: hide(change.origin) }),
    ...(change.caution === null ? {} : { caution: change.caution }),
    ...(change.mode === null ? {} : { mode: change.mode }),
    ...(change.evidence.length === 0 ? {} : { evidence: change.evidence.map((one) => ({ ...one, command: hide(one.command) })) }),
  };
}

/** Applies the hunks that are in one of these states. */
export function textWith(change: StoredChange, states: readonly HunkState[]): string | null {
  return applyHunks(change.base, change.proposed, change.hunks, (hunk) => states.includes(hunk.state));
}

export function isUndecided(hunk: Hunk): boolean {
  return hunk.state === "pending" || hunk.state === "conflict";
}

/** Derives the change's status from the states of its hunks. */
export function statusOf(hunks: readonly Hunk[]): Change["status"] {
  if (hunks.some(isUndecided)) return "pending";
  if (hunks.every((hunk) => hunk.state === "accepted")) return "accepted";
  return hunks.every((hunk) => hunk.state === "rejected") ? "rejected" : "mixed";
}

function unreadableChange(path: string): LancelotError {
  return new LancelotError(
    "unavailable",
    `The change to ${path} contains a secret and was encrypted with a key that no longer exists (placeholders.key in the data folder). Restore the key, or request the change again.`,
  );
}

function toImages(json: string): ChangedImages {
  const { before, after } = Images.parse(JSON.parse(json));
  return { before: toImage(before), after: toImage(after) };
}

function toImage(image: z.output<typeof Image>): FileImage {
  if (image === null) return null;
  const { hash, mode, kind } = image;
  return kind === undefined ? { hash, mode } : { hash, mode, kind };
}

function toStored(row: Row): StoredChange {
  return {
    id: row.id,
    questId: row.quest_id,
    path: { absolute: row.absolute, display: row.path },
    kind: row.kind,
    status: row.status,
    base: row.base,
    proposed: row.proposed,
    encoding: StoredEncoding.parse(JSON.parse(row.encoding)),
    hunks: Hunks.parse(JSON.parse(row.hunks)),
    told: ReportedStates.parse(JSON.parse(row.told)),
    receiptId: row.receipt_id,
    problem: row.problem,
    images: row.images === null ? null : toImages(row.images),
    mode: row.mode,
    origin: row.origin,
    caution: row.caution,
    evidence: z.array(Evidence).parse(JSON.parse(row.evidence)),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
