import { describe, expect, test } from "vitest";
import { hostEnvironment } from "../../../extension/host/environment.ts";

const base = { platform: "linux", electron: false, proxy: "", logLevel: "info" };

describe("environment of the agent host", () => {
  test("passes the needed variables and no secret", () => {
    const env = {
      PATH: "/bin",
      HOME: "/home/o",
      LANG: "de_DE.UTF-8",
      XDG_DATA_HOME: "/x",
      FEATURE_SOUL: "0",
      LOCAL_MODEL_PATH: "/m.gguf",
      LANCELOT_PROVIDER: "work",
      DOCKER_CONTEXT: "remote",
      DOCKER_CERT_PATH: "/certs",
      CONTAINER_HOST: "unix:///podman.sock",
      NODE_EXTRA_CA_CERTS: "/ca.pem",
      ANTHROPIC_API_KEY: "secret",
      OPENAI_API_KEY: "secret",
      GITHUB_TOKEN: "secret",
      AWS_SECRET_ACCESS_KEY: "secret",
      LANCELOT_OWNER_TOKEN: "secret",
      NODE_OPTIONS: "--require /evil.js",
      LD_PRELOAD: "/evil.so",
      VSCODE_IPC_HOOK: "/sock",
      UNSET: undefined,
    };
    expect(hostEnvironment({ ...base, env })).toEqual({
      PATH: "/bin",
      HOME: "/home/o",
      LANG: "de_DE.UTF-8",
      XDG_DATA_HOME: "/x",
      FEATURE_SOUL: "0",
      LOCAL_MODEL_PATH: "/m.gguf",
      LANCELOT_PROVIDER: "work",
      DOCKER_CONTEXT: "remote",
      DOCKER_CERT_PATH: "/certs",
      CONTAINER_HOST: "unix:///podman.sock",
      NODE_EXTRA_CA_CERTS: "/ca.pem",
      LANCELOT_LOG_LEVEL: "info",
      MALLOC_ARENA_MAX: "1",
    });
  });

  test.each([
    [
      "win32",
      { Path: "C:\\bin", SYSTEMROOT: "C:\\Windows", Secret: "x" },
      ["LANCELOT_LOG_LEVEL", "MALLOC_ARENA_MAX", "Path", "SYSTEMROOT"],
    ],
    ["linux", { Path: "nothing", path: "nothing", SystemRoot: "nothing" }, ["LANCELOT_LOG_LEVEL", "MALLOC_ARENA_MAX"]],
  ])("compares names as %s does", (platform, env, names) => {
    expect(Object.keys(hostEnvironment({ ...base, platform, env })).sort()).toEqual(names);
  });

  test("tells Electron to be Node, on the desktop alone", () => {
    expect(hostEnvironment({ ...base, env: {}, electron: true })["ELECTRON_RUN_AS_NODE"]).toBe("1");
    expect(hostEnvironment({ ...base, env: { ELECTRON_RUN_AS_NODE: "1" } })).not.toHaveProperty("ELECTRON_RUN_AS_NODE");
  });

  test("the editor's proxy setting counts where the environment names none", () => {
    expect(hostEnvironment({ ...base, env: {}, proxy: "http://p:1" })["HTTPS_PROXY"]).toBe("http://p:1");
    expect(hostEnvironment({ ...base, env: { https_proxy: "http://q:1" }, proxy: "http://p:1" })).toMatchObject({
      https_proxy: "http://q:1",
    });
    expect(hostEnvironment({ ...base, env: { https_proxy: "http://q:1" }, proxy: "http://p:1" })).not.toHaveProperty("HTTPS_PROXY");
  });
});
