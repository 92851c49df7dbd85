import { hostAllocator } from "./host-flags.ts";

/** Environment variables that the agent host inherits from VS Code. API keys are not among them: they are in SecretStorage. */
const passed = [
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TMP", "TEMP"],
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_V8_COVERAGE"],
  ...["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "no_proxy", "all_proxy"],
  ...["npm_config_registry", "NPM_CONFIG_REGISTRY", "LANCELOT_PROVIDER", "SSH_AUTH_SOCK"],
  ...["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "CONTAINER_HOST"],
] as const;
const passedOnWindows = [
  ...["SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA"],
  ...["ProgramData", "ProgramFiles", "ProgramFiles(x86)", "HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"],
] as const;
const passedPrefixes = ["LOCAL_MODEL_", "FEATURE_", "XDG_"] as const;

export interface EnvironmentFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  /** True in desktop VS Code, where `process.execPath` is Electron and must run as Node. */
  readonly electron: boolean;
  /** The editor's `http.proxy` setting; empty when none. */
  readonly proxy: string;
  readonly logLevel: string;
}

/** The agent host's environment: an allowlist, never a copy of the editor's. Names are case-insensitive on Windows. */
export function hostEnvironment({ env, platform, electron, proxy, logLevel }: EnvironmentFacts): Record<string, string> {
  const windows = platform === "win32";
  const key = (name: string) => (windows ? name.toUpperCase() : name);
  const names = new Set([...passed, ...(windows ? passedOnWindows : [])].map(key));
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue;
    if (names.has(key(name)) || passedPrefixes.some((prefix) => key(name).startsWith(prefix))) result[name] = value;
  }
  if (proxy !== "" && !Object.keys(result).some((name) => name.toUpperCase() === "HTTPS_PROXY")) result["HTTPS_PROXY"] = proxy;
  result["LANCELOT_LOG_LEVEL"] = logLevel;
  Object.assign(result, hostAllocator);
  if (electron) {
    result["ELECTRON_RUN_AS_NODE"] = "1";
    result["ELECTRON_NO_ASAR"] = "1";
  }
  return result;
}
