import { config } from "zod";

// A command or a starting host uses each schema only a few times, so that interpreting a schema takes less time and memory than
// compiling it. Zod decides this when a schema is created, so this module must be imported before all schemas.
config({ jitless: true });
