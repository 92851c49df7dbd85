// Activates a proposal and ends by SIGKILL at the named step, as a host that is killed does.
import { createSoulFixture } from "./soul-fixture.ts";

const [base, id, step] = process.argv.slice(2);
if (base === undefined || id === undefined) throw new Error("use: soul-activate.ts BASE PROPOSAL [STEP]");
const fixture = createSoulFixture(
  {
    between: (at) => {
      if (at === step) process.kill(process.pid, "SIGKILL");
    },
  },
  base,
);
fixture.soul.activate(id);
fixture.close();
