import * as fc from "fast-check";
import { seed } from "./soak.ts";

// A failure prints its seed, which LANCELOT_SEED (or `npm test -- --seed`) repeats.
if (seed !== undefined) fc.configureGlobal({ seed });
