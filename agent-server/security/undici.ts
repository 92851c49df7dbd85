// Loaded with the first request. A file of its own, because a bundled CommonJS package gives an `import()` of it no names.
export { Agent, EnvHttpProxyAgent, FormData, fetch } from "undici";
