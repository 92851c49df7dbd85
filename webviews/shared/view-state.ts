import type * as z from "zod";
import type { ViewApi } from "./bridge.ts";

/** What a view keeps over a reload of its page. */
export interface ViewState<S> {
  readonly initial: S;
  update(patch: Partial<S>): void;
}

/** Reads what the view kept before; anything that does not fit the schema is dropped for its defaults. */
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
