// Loaded with the first download. A file of its own, because a bundled CommonJS package gives an `import()` of it no names.
export { EnvHttpProxyAgent, fetch } from "undici";
