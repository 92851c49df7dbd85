import { trimEnd } from "../../contract/trim-end.ts";

/** The npm registry: the environment's, otherwise the public one. */
export function registryOf(env: Readonly<Record<string, string | undefined>>): string {
  return trimEnd(env["npm_config_registry"] || env["NPM_CONFIG_REGISTRY"] || "https://registry.npmjs.org", "/");
}

export function tarballUrl(registry: string, name: string, version: string): string {
  return `${registry}/${name}/-/${name.slice(name.indexOf("/") + 1)}-${version}.tgz`;
}
