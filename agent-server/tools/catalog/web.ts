import * as z from "zod";
import { intentOf } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { ProviderCall } from "../routing/provider-failover.ts";
import type { WebSource } from "../providers/web-types.ts";
import { type IntentSpec, refused } from "../../execution/execution.ts";
import { formatBytes } from "../../workspace/workspace.ts";
import type { Scope } from "../tool.ts";

export const WebAddress = z.string().trim().min(1).max(8192);

/**
 * Judges each hop of a request by the same policy as the first. A redirect to another host is followed only if policy allows
 * that host without asking, because an approval covers only the first one.
 */
export function judgeHops(scope: Scope, step: IntentSpec): (url: string, hop: number) => void {
  const first = hostOf(step.args["url"]);
  return (url, hop) => {
    const decision = scope.governance.evaluate(intentOf({ ...step, args: { ...step.args, url } }, scope.call));
    if (decision.verdict === "deny") {
      if (hop === 0) throw refused(decision);
      const why = decision.rules.map(({ message }) => message).join(" ");
      throw new LancelotError("denied", `${first} redirects to ${hostOf(url)}, which is denied: ${why}`, { data: { decision } });
    }
    if (hop > 0 && decision.verdict === "ask" && hostOf(url) !== first) {
      throw new LancelotError(
        "conflict",
        `${first} redirects to another host, which was not approved, so it was not followed: ${url.slice(0, 1000)} Request that URL itself if you need it.`,
      );
    }
  };
}

/** The options for running a web request on a provider. Reads are repeatable. */
export function webCall(scope: Scope, receiptId: string, repeatable: boolean): ProviderCall {
  const { quest: questId, signal } = scope.call;
  return {
    questId,
    parentId: receiptId,
    signal,
    repeatable,
    // The web provider has its own, shorter limits.
    beginMs: 10 * 60_000,
    profile: { network: true, unattended: false },
    ...(scope.chosen === null ? {} : { planned: scope.chosen }),
  };
}

/** The line that names the source of a response. */
export function sourceLine(source: WebSource): string {
  const from = source.finalUrl === source.url ? "" : ` (requested as ${source.url})`;
  return `[Source: ${source.finalUrl}${from}, fetched ${source.fetchedAt}, ${source.type === "" ? "" : `${source.type}, `}${formatBytes(source.bytes)}]`;
}

export function hostOf(url: unknown): string {
  return typeof url === "string" && URL.canParse(url) ? new URL(url).host : "the address";
}

/** A URL without its fragment, which is never sent. */
export function requestUrl(address: string): string {
  if (!address.includes("#") || !URL.canParse(address)) return address;
  const url = new URL(address);
  url.hash = "";
  return url.href;
}
