import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import { secretDisguises } from "./secret-disguises.ts";

const folder = join(import.meta.dirname, "../../fixtures/memory-poisoning");

const Group = z.strictObject({
  via: z.enum(["file", "page", "tool", "repository", "forged", "message", "slow", "encoded", "worded"]),
  attacks: z.array(z.union([z.string(), z.array(z.string()).min(2)])),
});

/** One attempt to get something remembered that the owner did not say. */
export interface Poisoning {
  readonly id: string;
  readonly via: z.infer<typeof Group>["via"];
  /** What an agent that obeys would have remembered, one after the other. */
  readonly texts: readonly string[];
  /** What the owner wrote, where the agent claims to have it from there. */
  readonly said: string | null;
}

export function loadPoisonings(): Poisoning[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml") && name !== "ordinary.yaml");
  return files.sort().flatMap((file) => {
    const { via, attacks } = Group.parse(parse(readFileSync(join(folder, file), "utf8")));
    return attacks.map((attack, number): Poisoning => {
      const id = `${file.replace(".yaml", "")}-${String(number + 1)}`;
      if (typeof attack === "string") return { id, via, texts: [attack], said: null };
      const [text = "", more = ""] = attack;
      if (via === "message") return { id, via, texts: [text], said: more };
      if (via === "encoded") return { id, via, texts: [`The value of the setting is ${disguised(text, more)}`], said: null };
      return { id, via, texts: attack, said: null };
    });
  });
}

/** Facts that look like orders and are none. */
export function loadOrdinary(): string[] {
  return z.array(z.string()).parse(parse(readFileSync(join(folder, "ordinary.yaml"), "utf8")));
}

function disguised(text: string, name: string): string {
  const disguise = secretDisguises[name];
  if (disguise === undefined) throw new Error(`Nothing is disguised ${name}.`);
  return disguise(text);
}
