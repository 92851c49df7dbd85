import type * as z from "zod";
import type { ViewApi } from "./bridge.ts";

/** The state of a view that survives a reload of its page. */
export interface ViewState<S> {
  readonly initial: S;
  update(patch: Partial<S>): void;
}

/** Reads the saved state. A state that does not match the schema is replaced by the fallback. */
export function createViewState<S extends Record<string, unknown>>(api: ViewApi, schema: z.ZodType<S>, fallback: S): ViewState<S> {
  const parsed = schema.safeParse(api.getState());
  const initial = parsed.success ? parsed.data : fallback;
  let current = initial;
  return {
    initial,
    update(patch) {
      current = { ...current, ...patch };
      api.setState(current);
    },
  };
}
