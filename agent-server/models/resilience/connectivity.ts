import type { Candidate } from "../provider-selection.ts";

/** `refused`: no provider answers, but a host refused the connection, so there may be a network. */
export type Reach = "reachable" | "refused" | "offline";

/** Detects whether there is a network, by the providers' servers (M9). */
export interface Connectivity {
  /** Whether the last check found no network. */
  isOffline(): boolean;
  /** Checks the other providers after a connection to one failed. */
  checkAfterFailure(failed: string, error: unknown, candidates: readonly Candidate[]): Promise<Reach>;
  /** Checks again while offline, unless it was checked just before. Returns true while there is no network. */
  checkAgain(): Promise<boolean>;
  close(): void;
}

const timeoutMs = 2_500;
const freshMs = 3_000;
const againMs = 15_000;

/** System errors for an unreachable server: no name resolution, or no connection. */
const noWay: ReadonlySet<string> = new Set([
  "ENOTFOUND",
  "EAI_AGAIN",
  "EAI_FAIL",
  "ENETUNREACH",
  "ENETDOWN",
  "ENETRESET",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Classifies an error; `reachable` for every error that is not a failed connection. */
export function reachOfFailure(error: unknown): Reach {
  const codes = new Set<string>();
  const seen = new Set<unknown>();
  const look = (one: unknown): void => {
    if (!(one instanceof Error) || seen.has(one) || seen.size > 20) return;
    seen.add(one);
    codes.add(String(Reflect.get(one, "code") ?? ""));
    look(one.cause);
    if (one instanceof AggregateError) one.errors.forEach(look);
  };
  look(error);
  if (codes.has("ECONNREFUSED")) return "refused";
  return [...codes].some((code) => noWay.has(code)) ? "offline" : "reachable";
}

/**
 * @param deps.isCloud whether a provider is reached over the network
 * @param deps.onChange called for each change
 */
export function createConnectivity(deps: {
  isCloud: (candidate: Candidate) => boolean;
  candidates: () => Promise<readonly Candidate[]>;
  onChange: (offline: boolean) => void;
  now: () => number;
}): Connectivity {
  let offline = false;
  let lookedAt = 0;
  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<Reach> | null = null;
  let closed = false;

  function set(value: boolean): void {
    lookedAt = deps.now();
    if (value === offline || closed) return;
    offline = value;
    if (timer !== null) clearInterval(timer);
    // Keeps the displayed state current while no model is called.
    timer = value ? setInterval(() => void look([], deps.candidates).catch(() => undefined), againMs).unref() : null;
    deps.onChange(value);
  }

  /** Concurrent failures share one check. @param known results that are known already, by name */
  function look(known: readonly [string, Reach][], candidates: () => Promise<readonly Candidate[]>): Promise<Reach> {
    looking ??= (async () => {
      try {
        const names = new Set(known.map(([name]) => name));
        const others = (await candidates()).filter((one) => deps.isCloud(one) && !names.has(one.name));
        const found = [...known.map(([, reach]) => reach), ...(await Promise.all(others.map(reach)))];
        const together =
          found.includes("reachable") || found.length === 0 ? "reachable" : found.includes("refused") ? "refused" : "offline";
        set(together === "offline");
        return together;
      } finally {
        looking = null;
      }
    })();
    return looking;
  }

  return {
    isOffline: () => offline,
    async checkAfterFailure(failed, error, candidates) {
      const own = reachOfFailure(error);
      return own === "reachable" ? own : look([[failed, own]], () => Promise.resolve(candidates));
    },
    async checkAgain() {
      if (!offline || deps.now() - lookedAt < freshMs) return offline;
      return (await look([], deps.candidates)) === "offline";
    },
    close() {
      closed = true;
      if (timer !== null) clearInterval(timer);
    },
  };
}

/** Any response counts, even a rejection. */
async function reach({ connection }: Candidate): Promise<Reach> {
  if (connection === null) return "offline";
  try {
    const { origin } = new URL(connection.baseUrl);
    const response = await connection.fetch(origin, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    return "reachable";
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError" ? "offline" : reachOfFailure(error);
  }
}
