import { enableCompileCache } from "node:module";

// Before anything large is loaded: the next start reads compiled code from the cache.
enableCompileCache();
await import("./interpret-schemas.ts");
const { runMain } = await import("./gateway/editor-host.ts");
runMain(process.argv.slice(2));
