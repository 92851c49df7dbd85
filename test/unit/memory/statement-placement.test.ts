import { describe, expect, it } from "vitest";
import { placeOf } from "../../../agent-server/memory/statement-placement.ts";

describe("placeOf", () => {
  const everywhere = { target: "core:operating_rules", kind: "rule", namespace: "global" };
  const here = { ...everywhere, namespace: "workspace" };
  const likes = { target: "core:human", kind: "preference", namespace: "global" };
  const person = { ...likes, kind: "fact" };
  const fact = { target: "archival", kind: "fact", namespace: "workspace" };
  it.each([
    ["I prefer tabs", likes],
    ["that I prefer tabs", likes],
    ["my name is Ada", person],
    ["always answer in German", everywhere],
    ["use conventional commits", everywhere],
    ["I want you to ask before you push", everywhere],
    ["never touch generated/", here],
    ["always run the linter in this project", here],
    ["the staging port is 8443", fact],
    ["we use pnpm", fact],
    ["our build takes four minutes", fact],
    ["tests are run with npm test", fact],
    ["we decided to drop Node 18", { ...fact, kind: "decision" }],
    ["ich Tabs bevorzuge", likes],
    ["wir pnpm nutzen", fact],
    ["generated/ nie angefasst wird", here],
    ["je préfère les tabulations", likes],
    ["nous utilisons pnpm", fact],
    ["ne touche jamais generated/", here],
    ["prefiero tabuladores", likes],
    ["usamos pnpm", fact],
    ["nunca hagas push sin preguntar", everywhere],
    ["preferisco le tabulazioni", likes],
    ["usiamo pnpm", fact],
    ["prefiro tabulações", likes],
    ["usamos a porta 8443", fact],
    ["my project uses pnpm", fact],
    ["I work in Berlin", person],
    ["mein Name Ada ist", person],
    ["the tests must never touch the network", everywhere],
    ["it is slow", fact],
    ["", fact],
  ])("%s", (text, place) => {
    expect(placeOf(text)).toEqual(place);
  });
});
