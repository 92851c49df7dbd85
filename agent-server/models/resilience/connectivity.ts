import type { Candidate } from "../provider-selection.ts";

/** `refused`: none of them answers, but something on the way refused, so it need not be the network. */
export type Reach = "reachable" | "refused" | "offline";

/** Whether the providers' servers can be reached at all (M9, offline detection). */
export interface Connectivity {
  /** There seemed to be no network when it was last looked. */
  isOffline(): boolean;
  /** After a connection to one of them failed: tries the others. */
  lookAfter(failed: string, error: unknown, candidates: readonly Candidate[]): Promise<Reach>;
  /** While offline: looks again, unless that was done a moment ago. True when there is still no network. */
  lookAgain(): Promise<boolean>;
  close(): void;
}

const patienceMs = 2_500;
const freshMs = 3_000;
const againMs = 15_000;

/** What a system says when a server cannot be reached: its name is not found, or no connection comes about. */
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

/** How a failure came about, where it is that no connection did; `reachable` for every other. */
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
 * @param deps.isCloud a provider that is reached over the network
 * @param deps.onChange told of each change, with whether it is offline now
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
    // What is shown turns by itself, also while nobody asks a model.
    timer = value ? setInterval(() => void look([], deps.candidates).catch(() => undefined), againMs).unref() : null;
    deps.onChange(value);
  }

  /** Several requests that fail at once look once. @param known what is known of one already, by name */
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
    async lookAfter(failed, error, candidates) {
      const own = reachOfFailure(error);
      return own === "reachable" ? own : look([[failed, own]], () => Promise.resolve(candidates));
    },
    async lookAgain() {
      if (!offline || deps.now() - lookedAt < freshMs) return offline;
      return (await look([], deps.candidates)) === "offline";
    },
    close() {
      closed = true;
      if (timer !== null) clearInterval(timer);
    },
  };
}

/** Any answer at all will do, also one that says no. */
async function reach({ connection }: Candidate): Promise<Reach> {
  if (connection === null) return "offline";
  try {
    const { origin } = new URL(connection.baseUrl);
    const response = await connection.fetch(origin, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(patienceMs) });
    await response.body?.cancel();
    return "reachable";
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError" ? "offline" : reachOfFailure(error);
  }
}
