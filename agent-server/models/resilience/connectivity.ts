import type { Candidate } from "../selection.ts";

/** Whether the providers' servers can be reached at all (M9, offline detection). */
export interface Connectivity {
  /** No provider could be reached when it was last looked. */
  isOffline(): boolean;
  /** After a connection to one of them failed: tries the others. True when none can be reached. */
  lookAfter(failed: string, candidates: readonly Candidate[]): Promise<boolean>;
  /** While offline: looks again, unless that was done a moment ago. True when still none can be reached. */
  lookAgain(candidates: () => Promise<readonly Candidate[]>): Promise<boolean>;
  close(): void;
}

const patienceMs = 2_500;
const freshMs = 3_000;
const againMs = 15_000;

/** What a system says when a server cannot be reached: its name is not found, or no connection comes about. */
const unreachable: ReadonlySet<string> = new Set([
  "ENOTFOUND",
  "EAI_AGAIN",
  "EAI_FAIL",
  "ENETUNREACH",
  "ENETDOWN",
  "ENETRESET",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ECONNREFUSED",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** The failure is that no connection came about, as against a server that answered or broke off. */
export function isConnectFailure(error: unknown): boolean {
  const seen = new Set<unknown>();
  const look = (one: unknown): boolean => {
    if (!(one instanceof Error) || seen.has(one) || seen.size > 20) return false;
    seen.add(one);
    if (unreachable.has(String(Reflect.get(one, "code") ?? ""))) return true;
    return look(one.cause) || (one instanceof AggregateError && one.errors.some(look));
  };
  return look(error);
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
  let looking: Promise<boolean> | null = null;
  let closed = false;

  function set(value: boolean): boolean {
    lookedAt = deps.now();
    if (value === offline || closed) return value;
    offline = value;
    if (timer !== null) clearInterval(timer);
    // What is shown turns by itself, also while nobody asks a model.
    timer = value ? setInterval(() => void lookAt(deps.candidates).catch(() => undefined), againMs).unref() : null;
    deps.onChange(value);
    return value;
  }

  /** Several requests that fail at once look once. */
  function lookAt(candidates: () => Promise<readonly Candidate[]>, except?: string): Promise<boolean> {
    looking ??= (async () => {
      try {
        const others = (await candidates()).filter((one) => deps.isCloud(one) && one.name !== except);
        const reached = await Promise.all(others.map(reach));
        return set(!reached.includes(true) && (others.length > 0 || except !== undefined));
      } finally {
        looking = null;
      }
    })();
    return looking;
  }

  return {
    isOffline: () => offline,
    lookAfter: (failed, candidates) => lookAt(() => Promise.resolve(candidates), failed),
    async lookAgain(candidates) {
      if (!offline || deps.now() - lookedAt < freshMs) return offline;
      return lookAt(candidates);
    },
    close() {
      closed = true;
      if (timer !== null) clearInterval(timer);
    },
  };
}

/** Any answer at all will do, also a refusal. */
async function reach({ connection }: Candidate): Promise<boolean> {
  if (connection === null) return false;
  try {
    const { origin } = new URL(connection.baseUrl);
    const response = await connection.fetch(origin, { method: "HEAD", redirect: "manual", signal: AbortSignal.timeout(patienceMs) });
    await response.body?.cancel();
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") return false;
    return !isConnectFailure(error);
  }
}
