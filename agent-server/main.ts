import { enableCompileCache } from "node:module";

// Before anything large is loaded: the next start reads compiled code from the cache.
enableCompileCache();
const { runMain } = await import("./gateway/editor-host.ts");
runMain(process.argv.slice(2));
