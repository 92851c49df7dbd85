import type { Receipt } from "../contract/receipts.ts";
import type { Ledger } from "./types.ts";

/** Kinds of the audit log (requirement X2); each is a receipt of its own name, `security.<kind>`. */
export const securityEvents = [
  /** A call of an owner method, or of the gateway, without the token it needs. */
  "unauthorized",
  "rate-limited",
  "too-large",
  /** The gate said no. */
  "denied",
  /** A secret was read, stored, deleted, or the names were listed. */
  "vault",
  /** A text of a tool, a file or the owner holds words that read like orders to the model. */
  "injection",
  "flag",
  /** A sign-in was made, renewed, or could not be. */
  "sign-in",
  "safe-mode",
  "soul",
  "trust",
  "learning",
  "crusader",
] as const;
export type SecurityEvent = (typeof securityEvents)[number];

/** The audit log: bounded, never in the way. `receipts.search` with `security` finds all of it. */
export interface Audit {
  /**
   * Notes an event. The same event with the same details is written once a minute, and at most `perMinute` of one kind; how many
   * more there were is written when the minute is over. Never throws.
   */
  note(event: SecurityEvent, details: Record<string, unknown>, of?: { questId?: string | null; parentId?: string | null }): void;
  /** Writes what is counted and stops listening. */
  close(): void;
}

export interface AuditDeps {
  ledger: Pick<Ledger, "record" | "onReceipt">;
  log?: (message: string, error?: unknown) => void;
  /** Receipts of one kind in a minute; 30 unless said. */
  perMinute?: number;
  /** Milliseconds. */
  now?: () => number;
}

const windowMs = 60_000;

/** Receipts of other names that belong into the audit log too: the log says so and names them. */
const noted: readonly (readonly [RegExp, SecurityEvent])[] = [
  [/^governance\.deny$/, "denied"],
  [/^soul\./, "soul"],
  [/^trust\./, "trust"],
  [/^learning\./, "learning"],
  [/^vault\./, "vault"],
  [/^crusader\./, "crusader"],
];

interface Minute {
  readonly since: number;
  readonly seen: Set<string>;
  written: number;
  more: number;
}

export function createAudit({ ledger, log = () => undefined, perMinute = 30, now = Date.now }: AuditDeps): Audit {
  const minutes = new Map<SecurityEvent, Minute>();
  let timer: NodeJS.Timeout | null = null;

  const write = (
    event: SecurityEvent,
    inputs: Record<string, unknown>,
    outputs: Record<string, unknown>,
    of: { questId?: string | null; parentId?: string | null } = {},
  ): void => {
    try {
      ledger.record(
        {
          actionType: "system",
          actionName: `security.${event}`,
          inputs,
          riskTier: "T0",
          questId: of.questId ?? null,
          parentId: of.parentId ?? null,
        },
        { status: "success", outputs },
      );
    } catch (error) {
      log(`security.${event} could not be recorded`, error);
    }
  };

  const endMinute = (event: SecurityEvent, minute: Minute): void => {
    minutes.delete(event);
    if (minute.more > 0)
      write(event, { title: `${String(minute.more)} more` }, { more: minute.more, since: new Date(minute.since).toISOString() });
  };
  const sweep = (all: boolean): void => {
    for (const [event, minute] of minutes) if (all || Math.abs(now() - minute.since) >= windowMs) endMinute(event, minute);
  };

  const note: Audit["note"] = (event, details, of) => {
    let minute = minutes.get(event);
    if (minute !== undefined && Math.abs(now() - minute.since) >= windowMs) {
      endMinute(event, minute);
      minute = undefined;
    }
    if (minute === undefined) {
      minute = { since: now(), seen: new Set(), written: 0, more: 0 };
      minutes.set(event, minute);
      timer ??= setInterval(() => sweep(false), windowMs).unref();
    }
    let key = "";
    try {
      key = JSON.stringify([details, of?.questId ?? null]);
    } catch {
      key = event;
    }
    if (minute.written >= perMinute || minute.seen.has(key)) {
      minute.more += 1;
      return;
    }
    minute.seen.add(key);
    minute.written += 1;
    write(event, details, {}, of);
  };

  const stop = ledger.onReceipt((receipt: Receipt) => {
    if (receipt.status === "pending") return;
    const { id, actionName, questId, status, inputs, outputs } = receipt;
    const rules = outputs["injection"] ?? inputs["injection"];
    if (Array.isArray(rules) && rules.length > 0)
      note("injection", { title: `${actionName}: ${rules.join(", ")}`, receiptId: id }, { questId, parentId: id });
    const event = noted.find(([name]) => name.test(actionName))?.[1];
    if (event === undefined) return;
    note(event, { title: actionName, receiptId: id, status }, { questId, parentId: id });
  });

  return {
    note,
    close() {
      stop();
      if (timer !== null) clearInterval(timer);
      sweep(true);
    },
  };
}
