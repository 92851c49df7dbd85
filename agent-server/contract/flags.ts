import * as z from "zod";
import { method } from "./method.ts";

export const Flag = z.object({
  /** Without the FEATURE_ prefix. */
  name: z.string(),
  enabled: z.boolean(),
  default: z.boolean(),
  /** Flags that must be on for this one to have an effect. */
  needs: z.array(z.string()).optional(),
  /** What it switches, and what is left when it is off. */
  effect: z.string(),
  /** Where the value comes from. */
  source: z.enum(["default", "environment", "setting"]),
});
export type Flag = z.infer<typeof Flag>;

const flagList = z.object({ items: z.array(Flag) });

export const flagMethods = {
  "flags.list": method({ summary: "Every flag, its value and what it switches.", access: "any", params: z.object({}), result: flagList }),
  "flags.set": method({
    summary:
      "Switches a flag at once and writes it to the owner's config/flags.yaml. At the next start FEATURE_<NAME> in the environment goes before the file.",
    access: "owner",
    params: z.object({ name: z.string().min(1).max(100), enabled: z.boolean() }),
    result: Flag,
  }),
  "flags.reload": method({
    summary: "Reads the flags again from the environment and the owner's file.",
    access: "owner",
    params: z.object({}),
    result: flagList,
  }),
};
