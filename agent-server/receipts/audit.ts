import type { Receipt } from "../contract/receipts.ts";
import type { Ledger } from "./types.ts";

/** Events of the audit log (requirement X2). Each is recorded as a receipt named `security.<event>`. */
export const securityEvents = [
  /** A call to an owner method or the gateway without the required token. */
  "unauthorized",
  "rate-limited",
  "too-large",
  /** The gate denied an action. */
  "denied",
  /** A secret was read, stored or deleted, or secret names were listed. */
  "vault",
  /** A text of a tool, a file or the owner contains injected instructions. */
  "injection",
  "flag",
  /** A sign-in succeeded, was renewed, or failed. */
  "sign-in",
  "safe-mode",
  "soul",
  "trust",
  "learning",
  "crusader",
] as const;
export type SecurityEvent = (typeof securityEvents)[number];

/** The audit log: rate-limited, and it never fails the audited action. `receipts.search` for `security` finds all events. */
export interface Audit {
  /**
   * Records an event. Identical events are written once a minute, and at most `perMinute` events of one kind; a summary with the
   * number of suppressed events follows when the minute ends. Never throws.
   */
  note(event: SecurityEvent, details: Record<string, unknown>, of?: { questId?: string | null; parentId?: string | null }): void;
  /** Writes the pending summaries and stops listening. */
  close(): void;
}

export interface AuditDeps {
  ledger: Pick<Ledger, "record" | "onReceipt">;
  log?: (message: string, error?: unknown) => void;
  /** Maximum receipts of one kind per minute; 30 by default. */
  perMinute?: number;
  /** Milliseconds. */
  now?: () => number;
}

const windowMs = 60_000;

/** Receipts that the audit log also references, by the name of their action. */
const auditedActions: readonly (readonly [RegExp, SecurityEvent])[] = [
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
    const event = auditedActions.find(([name]) => name.test(actionName))?.[1];
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
