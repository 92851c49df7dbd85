import { enableCompileCache } from "node:module";

// Must run before large modules are loaded, so that the next start reads their compiled code from the cache.
enableCompileCache();
await import("./interpret-schemas.ts");
const { runMain } = await import("./gateway/editor-host.ts");
runMain(process.argv.slice(2));
