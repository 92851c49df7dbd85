// Loaded with the first download. A separate file, because an `import()` of a bundled CommonJS package has no named exports.
export { EnvHttpProxyAgent, fetch } from "undici";
