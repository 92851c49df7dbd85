import { config } from "zod";

// A command, and the start of a host, parses each kind of thing a few times: interpreting a schema then takes less time and memory
// than compiling a parser from it. Zod decides this when a schema is made, so this is imported before any of them.
config({ jitless: true });
