import * as z from "zod";
import { method } from "./method.ts";

/** A command of a Markdown file, for messages that begin with `/name`. */
export const CustomCommand = z.object({
  name: z.string(),
  description: z.string(),
  /** `owner`: a file of the data folder. `workspace`: a file of the open, trusted folder, whose text is fenced as data. */
  source: z.enum(["owner", "workspace"]),
  /** Relative to the data folder or the workspace. */
  path: z.string(),
});
export type CustomCommand = z.infer<typeof CustomCommand>;

export const commandMethods = {
  "commands.list": method({
    summary: "Lists the custom slash commands of the data folder and of the trusted workspace, and the files that cannot be used.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(CustomCommand), problems: z.array(z.object({ path: z.string(), message: z.string() })) }),
  }),
};
