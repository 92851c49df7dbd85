/** Code loaded after activation: the language client and the contract's schemas. esbuild bundles it separately. */
export { runHost } from "./host/run-host.ts";
export { createBridge } from "./views/bridge.ts";
export { textBefore } from "./review/text-before.ts";
