import * as z from "zod";
import { method } from "./method.ts";

export const Flag = z.object({
  /** Without the FEATURE_ prefix. */
  name: z.string(),
  enabled: z.boolean(),
  default: z.boolean(),
  /** Flags that must be on for this one to have an effect. */
  needs: z.array(z.string()).optional(),
  /** The feature it controls, and what remains when it is off. */
  effect: z.string(),
  /** Where the value comes from. */
  source: z.enum(["default", "environment", "setting"]),
});
export type Flag = z.infer<typeof Flag>;

const flagList = z.object({ items: z.array(Flag) });

export const flagMethods = {
  "flags.list": method({ summary: "Lists every flag with its value and effect.", access: "any", params: z.object({}), result: flagList }),
  "flags.set": method({
    summary:
      "Sets a flag immediately and saves it to the owner's config/flags.yaml. At the next start, FEATURE_<NAME> in the environment overrides the file.",
    access: "owner",
    params: z.object({ name: z.string().min(1).max(100), enabled: z.boolean() }),
    result: Flag,
  }),
  "flags.reload": method({
    summary: "Reloads the flags from the environment and the owner's file.",
    access: "owner",
    params: z.object({}),
    result: flagList,
  }),
};
