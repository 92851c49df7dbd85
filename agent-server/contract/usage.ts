import * as z from "zod";
import { Usage } from "./chat.ts";
import { Id } from "./common.ts";
import { method } from "./method.ts";

/** A sum of calls. */
export const UsageSum = z.object({
  calls: z.int(),
  usage: Usage,
  /** US dollars by the price table; calls without a price count as 0. */
  costUsd: z.number(),
  /** Savings of cache reads minus the extra cost of cache writes (US dollars). */
  cacheSavingsUsd: z.number(),
  /** Calls to models without a price. */
  unpricedCalls: z.int(),
});
export type UsageSum = z.infer<typeof UsageSum>;

const Row = UsageSum.extend({ key: z.string(), name: z.string() });
export type UsageRow = z.infer<typeof Row>;

/** Hard caps in US dollars; null: no cap. */
export const UsageCaps = z.object({ questUsd: z.number().positive().nullable(), dayUsd: z.number().positive().nullable() });
export type UsageCaps = z.infer<typeof UsageCaps>;

/** Estimated savings of local work, at the price of the active provider's fast lane, or of the first one with a price. */
export const UsageSavings = z.object({
  localCalls: z.int(),
  localTokens: z.int(),
  savedUsd: z.number(),
  /** `provider/model` of the price that was used; null without a known price. */
  comparedWith: z.string().nullable(),
  cacheSavingsUsd: z.number(),
});
export type UsageSavings = z.infer<typeof UsageSavings>;

export const UsageSummary = z.object({
  total: UsageSum,
  /** Of today, in this machine's time zone. */
  today: UsageSum,
  byLane: z.array(Row),
  byProvider: z.array(Row),
  byModel: z.array(Row),
  /** The 50 most expensive. `key` is the quest's id. */
  byQuest: z.array(Row),
  /** `key` is YYYY-MM-DD, oldest first, each with its lanes. */
  byDay: z.array(Row.extend({ lanes: z.array(Row) })),
  savings: UsageSavings,
  caps: UsageCaps,
  /** The problem of the user's config/usage.yaml: until it is corrected, no paid request is sent. Null without one. */
  capsProblem: z.string().nullable(),
  prices: z.object({
    /** Date of the price table (YYYY-MM-DD). */
    updated: z.string(),
    /** `provider/model` of used models without a price. */
    missing: z.array(z.string()),
    /** The problem of the user's config/prices.yaml; null without one. */
    problem: z.string().nullable(),
  }),
  /** Start of the count: the first call, or the last reset. */
  since: z.string().nullable(),
});
export type UsageSummary = z.infer<typeof UsageSummary>;

const Period = z.object({
  /** Number of days, including today. */
  days: z.coerce.number().int().min(1).max(366).default(30),
  questId: Id.optional(),
});

export const usageMethods = {
  "usage.summary": method({
    summary: "Tokens and cost by lane, provider, model, quest and day, from the providers' own figures, with savings and caps.",
    access: "any",
    params: Period,
    result: UsageSummary,
    route: { method: "GET", path: "/usage/summary" },
  }),
  "usage.lanes": method({
    summary: "Tokens and cost by lane.",
    access: "any",
    params: Period,
    result: z.object({ items: z.array(Row) }),
    route: { method: "GET", path: "/usage/lanes" },
  }),
  "usage.savings": method({
    summary: "Savings of local work and of the providers' caches, estimated from the price table.",
    access: "any",
    params: Period,
    result: UsageSavings,
    route: { method: "GET", path: "/usage/savings" },
  }),
  "usage.reset": method({
    summary: "Resets usage. Receipts are kept.",
    access: "owner",
    params: z.object({}),
    result: UsageSummary,
    route: { method: "POST", path: "/usage/reset" },
  }),
  "usage.setCaps": method({
    summary: "Sets the hard caps in US dollars; null removes one. A call that could exceed a cap is not made.",
    access: "owner",
    params: UsageCaps,
    result: UsageCaps,
  }),
};
