import { endless, runaway } from "./runaway.ts";
import type { Script } from "./turn.ts";

/** For `main.ts --script`: sends without end what the user's last message names, and nothing at all for `silence`. */
export const script: Script = ({ format, messages }) => {
  const asked = messages.findLast(({ role }) => role === "user")?.text ?? "";
  if (asked.includes("silence")) return { fault: "hang" };
  const kind = endless.find((name) => asked.includes(`(${name})`));
  if (kind === undefined) return { text: "Fine." };
  return {
    bytes: runaway(kind, format),
    ...(kind === "a web page" ? { contentType: "text/html" } : kind === "an error body" ? { fault: "http500" as const } : {}),
  };
};
