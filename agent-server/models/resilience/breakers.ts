import { BrokenCircuitError, type CircuitBreakerPolicy, CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen } from "cockatiel";
import { LancelotError } from "../../contract/errors.ts";
import type { BreakerState } from "../../contract/router.ts";
import type { Ledger } from "../../receipts/receipts.ts";

/** Settings of config/router.yaml. */
export interface BreakerNumbers {
  /** Failures in a row that open the circuit. */
  failures: number;
  openMs: number;
}

export interface Breakers {
  /**
   * Asks for permission to call a provider. The returned function must be called once with the error of the call, or null for an answer.
   * @throws LancelotError `unavailable`, `data.reason: "breaker"`, while the circuit is open
   */
  enter(provider: { name: string; displayName: string }): Promise<(ended: LancelotError | null) => void>;
  /** Whether calls to it are rejected now. */
  isOpen(name: string): boolean;
  states(): BreakerState[];
  /** Closes the circuit: the cause of its failures is over. */
  forget(name: string): void;
}

interface Circuit {
  readonly policy: CircuitBreakerPolicy;
  readonly numbers: BreakerNumbers;
  openedAt: number;
  reason: string;
}

/** Failures of the provider itself. A rejected key or request and an empty account are answers of a working provider. */
const providersFaults: ReadonlySet<unknown> = new Set(["network", "cut", "overloaded", "server", "timeout"]);

/** A circuit breaker for each provider (M9): opens after failures in a row, then lets one call test the provider. */
export function createBreakers(deps: { numbers: () => BreakerNumbers; ledger: Pick<Ledger, "record">; onChange: () => void }): Breakers {
  const circuits = new Map<string, Circuit>();

  function circuitOf(name: string): Circuit {
    const numbers = deps.numbers();
    const known = circuits.get(name);
    if (known !== undefined && known.numbers.failures === numbers.failures && known.numbers.openMs === numbers.openMs) return known;
    const policy = circuitBreaker(
      handleWhen((error) => error instanceof LancelotError && providersFaults.has(error.data?.["reason"])),
      { halfOpenAfter: numbers.openMs, breaker: new ConsecutiveBreaker(numbers.failures) },
    );
    const circuit: Circuit = { policy, numbers, openedAt: 0, reason: "" };
    policy.onBreak((why) => {
      circuit.openedAt = Date.now();
      if ("error" in why && why.error instanceof Error) circuit.reason = why.error.message;
      note(name, "open", circuit.reason);
      deps.onChange();
    });
    policy.onReset(() => {
      note(name, "closed", null);
      deps.onChange();
    });
    circuits.set(name, circuit);
    return circuit;
  }

  function note(name: string, what: "open" | "closed", reason: string | null): void {
    const opening = { actionType: "system", actionName: `provider_breaker_${what}`, inputs: { provider: name }, riskTier: "T0" } as const;
    deps.ledger.record(opening, what === "open" ? { status: "failure", errorMessage: reason } : { status: "success" });
  }

  const waitsUntil = ({ openedAt, numbers }: Circuit): number => openedAt + numbers.openMs;

  return {
    async enter({ name, displayName }) {
      const circuit = circuitOf(name);
      if (circuit.policy.state === CircuitState.HalfOpen)
        throw openCircuitError(`${displayName} is paused after repeated failures, and another request is testing it now.`);
      const over = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const run = circuit.policy.execute(() => {
        begun.resolve();
        return over.promise;
      });
      // It rejects with the error of the call, which the caller knows; only a rejected start matters here.
      run.catch(() => undefined);
      try {
        await Promise.race([begun.promise, run]);
      } catch (cause) {
        if (!(cause instanceof BrokenCircuitError)) throw cause;
        const seconds = Math.max(1, Math.ceil((waitsUntil(circuit) - Date.now()) / 1000));
        throw openCircuitError(
          `${displayName} failed ${circuit.numbers.failures} times in a row, so it is paused for ${seconds} s. ${circuit.reason}`,
          cause,
        );
      }
      return (ended) => {
        if (ended === null) over.resolve();
        else over.reject(ended);
      };
    },
    isOpen(name) {
      const circuit = circuits.get(name);
      if (circuit === undefined) return false;
      return (
        circuit.policy.state === CircuitState.HalfOpen || (circuit.policy.state === CircuitState.Open && Date.now() < waitsUntil(circuit))
      );
    },
    states: () =>
      [...circuits].map(([provider, circuit]) => {
        const { state } = circuit.policy;
        const isOpen = state === CircuitState.Open;
        return {
          provider,
          state: isOpen ? "open" : state === CircuitState.HalfOpen ? "half_open" : "closed",
          retryAt: isOpen ? new Date(waitsUntil(circuit)).toISOString() : null,
          reason: state === CircuitState.Closed || circuit.reason === "" ? null : circuit.reason,
        };
      }),
    forget(name) {
      const circuit = circuits.get(name);
      if (circuit === undefined || circuit.policy.state === CircuitState.Closed) return;
      circuits.delete(name);
      note(name, "closed", null);
      deps.onChange();
    },
  };
}

function openCircuitError(message: string, cause?: unknown): LancelotError {
  return new LancelotError("unavailable", message.trim(), { data: { reason: "breaker", retryable: false, action: "choose_model" }, cause });
}
