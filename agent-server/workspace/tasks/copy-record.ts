import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { GeneratedGroup } from "../../contract/changes.ts";

const recordName = "copy.json";

/** The copy of a task's files in a container engine, as its last command left it. */
const CopyRecord = z.object({
  bytes: z.number(),
  /** Files that stay there and never reach the workspace. */
  kept: z.array(GeneratedGroup),
});
export type CopyRecord = z.infer<typeof CopyRecord>;

const none: CopyRecord = { bytes: 0, kept: [] };

/** Makes the copy's size count towards the quota, and what stays there known to the user. @param folder of the task; commands cannot reach it */
export function recordCopy(folder: string, record: CopyRecord): void {
  writeFileSync(join(folder, recordName), JSON.stringify(record), { mode: 0o600 });
}

/** The record; an empty one where no command worked in a copy, or a host died while it wrote. */
export function readCopyRecord(folder: string): CopyRecord {
  try {
    return CopyRecord.parse(JSON.parse(readFileSync(join(folder, recordName), "utf8")));
  } catch {
    return none;
  }
}
