// A host that is killed between an effect and its verification. Writes files with writers that lie as told, while the queue
// of verifications is held up, says `written`, and waits for its end. Arguments: folder, and `right`, `wrong` or `owner`.
import { writeFileSync } from "node:fs";
import { createToolsFixture } from "../tools-fixture.ts";
import { catalogWith, type PlantedWriter } from "./planted.ts";

const [base = "", how = ""] = process.argv.slice(2);
let planted: PlantedWriter = {
  plans: { "held.txt": "held" },
  does: (absolute) => writeFileSync(absolute, "held"),
  verify: () => new Promise(() => undefined),
};
const fixture = createToolsFixture({ base, posture: "autonomous", catalog: catalogWith(() => planted) });
await fixture.run("plant", {});
planted = {
  plans: { "a.txt": "planned\n", "sub/b.txt": "planned\n" },
  does: (absolute) => writeFileSync(absolute, how === "right" ? "planned\n" : "plan"),
};
await fixture.run("plant", {});
process.stdout.write("written\n");
setInterval(() => undefined, 60_000);
