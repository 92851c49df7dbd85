import * as z from "zod";
import { Usage } from "./chat.ts";
import { Id } from "./common.ts";
import { method } from "./method.ts";

/** Calls that were counted together. */
export const UsageSum = z.object({
  calls: z.int(),
  usage: Usage,
  /** US dollars by the price table; of calls without a price nothing. */
  costUsd: z.number(),
  /** What reading from the providers' caches saved against the plain price, less what writing to them cost more. US dollars. */
  cacheSavingsUsd: z.number(),
  /** Calls to models the price table does not have. */
  unpricedCalls: z.int(),
});
export type UsageSum = z.infer<typeof UsageSum>;

const Row = UsageSum.extend({ key: z.string(), name: z.string() });
export type UsageRow = z.infer<typeof Row>;

/** Hard caps in US dollars; null: none. */
export const UsageCaps = z.object({ questUsd: z.number().positive().nullable(), dayUsd: z.number().positive().nullable() });
export type UsageCaps = z.infer<typeof UsageCaps>;

/** What local work would have cost at the fast lane of the active provider, or of the first priced one. */
export const UsageSavings = z.object({
  localCalls: z.int(),
  localTokens: z.int(),
  savedUsd: z.number(),
  /** `provider/model` whose price was taken; null where no price is known. */
  comparedWith: z.string().nullable(),
  cacheSavingsUsd: z.number(),
});
export type UsageSavings = z.infer<typeof UsageSavings>;

export const UsageSummary = z.object({
  total: UsageSum,
  /** Of the owner's day, in the time zone of this machine. */
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
  /** What is wrong with the owner's config/usage.yaml: until it is corrected nothing that costs money is sent. Null when nothing is. */
  capsProblem: z.string().nullable(),
  prices: z.object({
    /** YYYY-MM-DD of the table in use. */
    updated: z.string(),
    /** `provider/model` that were used and have no price. */
    missing: z.array(z.string()),
    /** What is wrong with the owner's config/prices.yaml; null when nothing is. */
    problem: z.string().nullable(),
  }),
  /** Since when is counted: the first call, or the last reset. */
  since: z.string().nullable(),
});
export type UsageSummary = z.infer<typeof UsageSummary>;

const Period = z.object({
  /** Days back from today, today included. */
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
    summary: "What local work and the providers' caches saved, estimated from the price table.",
    access: "any",
    params: Period,
    result: UsageSavings,
    route: { method: "GET", path: "/usage/savings" },
  }),
  "usage.reset": method({
    summary: "Begins to count anew from now. Receipts keep what was.",
    access: "owner",
    params: z.object({}),
    result: UsageSummary,
    route: { method: "POST", path: "/usage/reset" },
  }),
  "usage.setCaps": method({
    summary: "Sets the hard caps in US dollars; null takes one away. A call that would pass a cap is not made.",
    access: "owner",
    params: UsageCaps,
    result: UsageCaps,
  }),
};
