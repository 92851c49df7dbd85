/** What is loaded after activation: the language client and the contract's schemas. Built as a file of its own. */
export { runHost } from "./host/run.ts";
export { createBridge } from "./views/bridge.ts";
export { textBefore } from "./review/before.ts";
