import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSecrets, type EditorSecrets } from "../../../agent-server/security/security.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-secrets-"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const headless = (env: NodeJS.ProcessEnv = {}) => createSecrets({ dataDir, env });
const locked = (passphrase: string) => headless({ LANCELOT_VAULT_PASSPHRASE: passphrase });

/** An editor's SecretStorage, as the host reaches it. */
function editor(): EditorSecrets & { stored: Map<string, string> } {
  const stored = new Map<string, string>();
  return {
    stored,
    get: async (name) => stored.get(name) ?? null,
    set: async (name, value) => {
      if (value === null) stored.delete(name);
      else stored.set(name, value);
    },
    list: async () => [...stored.keys()],
  };
}

describe("secrets", () => {
  it("come from the editor, else the vault, else the environment", async () => {
    await headless().set("OPENAI_API_KEY", "vault");
    const storage = editor();
    const secrets = createSecrets({
      dataDir,
      env: { OPENAI_API_KEY: "environment", XAI_API_KEY: "environment", GEMINI_API_KEY: "" },
      editor: storage,
    });
    expect(await secrets.get("OPENAI_API_KEY")).toBe("vault");
    await secrets.set("OPENAI_API_KEY", "editor");
    expect(storage.stored.get("OPENAI_API_KEY")).toBe("editor");
    expect(await secrets.get("OPENAI_API_KEY")).toBe("editor");
    expect(await secrets.get("XAI_API_KEY")).toBe("environment");
    expect(await secrets.get("GEMINI_API_KEY")).toBeNull();
    expect(await secrets.get("NOT_THERE")).toBeNull();
  });

  it("are listed by name, each once, wherever they are", async () => {
    await headless().set("VAULT_API_KEY", "x");
    const storage = editor();
    await storage.set("EDITOR_API_KEY", "x");
    const env = {
      ENV_API_KEY: "x",
      VAULT_API_KEY: "y",
      EMPTY_API_KEY: "",
      PATH: "/bin",
      LANCELOT_OWNER_TOKEN: "x",
      LANCELOT_VAULT_PASSPHRASE: "",
    };
    expect(await createSecrets({ dataDir, env, editor: storage }).list()).toEqual(["EDITOR_API_KEY", "ENV_API_KEY", "VAULT_API_KEY"]);
  });

  it("are deleted from the editor and the vault", async () => {
    await headless().set("A_KEY", "vault");
    const storage = editor();
    await storage.set("A_KEY", "editor");
    const secrets = createSecrets({ dataDir, env: {}, editor: storage });
    await secrets.delete("A_KEY");
    expect(await secrets.get("A_KEY")).toBeNull();
    await secrets.delete("A_KEY");
  });

  it("never are what opens Lancelot itself", async () => {
    const secrets = headless({ LANCELOT_OWNER_TOKEN: "owner" });
    expect(await secrets.get("LANCELOT_OWNER_TOKEN")).toBeNull();
  });

  it.each(["constructor", "__proto__", "toString"])("named %s are like any other", async (name) => {
    const secrets = headless();
    expect(await secrets.get(name)).toBeNull();
    await secrets.set("OTHER", "x");
    expect(await secrets.get(name)).toBeNull();
  });
});

describe("the vault", () => {
  it("keeps secrets for the next start, encrypted, for the owner's eyes only", async () => {
    await headless().set("OPENAI_API_KEY", "very secret");
    await headless().set("OTHER_API_KEY", "also secret");
    expect(await headless().get("OPENAI_API_KEY")).toBe("very secret");
    expect(await headless().get("OTHER_API_KEY")).toBe("also secret");
    expect(readdirSync(dataDir).sort()).toEqual(["vault.json", "vault.key"]);
    for (const file of ["vault.json", "vault.key"]) {
      expect(readFileSync(join(dataDir, file), "utf8")).not.toMatch(/secret|API_KEY/);
      if (process.platform !== "win32") expect(statSync(join(dataDir, file)).mode & 0o777).toBe(0o600);
    }
  });

  it("needs no key file with a passphrase, and opens with that one only", async () => {
    await locked("right").set("A_KEY", "value");
    expect(readdirSync(dataDir)).toEqual(["vault.json"]);
    expect(await locked("right").get("A_KEY")).toBe("value");
    await expect(locked("wrong").get("A_KEY")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/LANCELOT_VAULT_PASSPHRASE is wrong/) as string,
    });
    await expect(locked("wrong").set("B_KEY", "x")).rejects.toMatchObject({ code: "unavailable" });
    await expect(headless().get("A_KEY")).rejects.toMatchObject({
      message: expect.stringMatching(/Set LANCELOT_VAULT_PASSPHRASE/) as string,
    });
    expect(await locked("right").list()).toEqual(["A_KEY"]);
  });

  it("says so when it was locked with the key file and a passphrase is given", async () => {
    await headless().set("A_KEY", "value");
    await expect(locked("any").get("A_KEY")).rejects.toMatchObject({
      message: expect.stringMatching(/key file, not with a passphrase/) as string,
    });
  });

  it("says so when the key file is gone, and makes no other in its place", async () => {
    await headless().set("A_KEY", "value");
    rmSync(join(dataDir, "vault.key"));
    await expect(headless().set("B_KEY", "x")).rejects.toMatchObject({ message: expect.stringMatching(/vault\.key is missing/) as string });
    expect(readdirSync(dataDir)).toEqual(["vault.json"]);
  });

  it.each<[string, (vault: Record<string, string>) => string]>([
    ["cut short", (vault) => JSON.stringify(vault).slice(0, 40)],
    ["changed in its data", (vault) => JSON.stringify({ ...vault, data: Buffer.from("x".repeat(40)).toString("base64") })],
    ["changed in its tag", (vault) => JSON.stringify({ ...vault, tag: Buffer.alloc(16).toString("base64") })],
    [
      "given a short tag",
      (vault) =>
        JSON.stringify({
          ...vault,
          tag: Buffer.from(vault["tag"] ?? "", "base64")
            .subarray(0, 4)
            .toString("base64"),
        }),
    ],
    ["emptied", () => ""],
  ])("that was %s is refused with a message, and left as it is", async (_, damage) => {
    await headless().set("A_KEY", "value");
    const file = join(dataDir, "vault.json");
    const damaged = damage(JSON.parse(readFileSync(file, "utf8")) as Record<string, string>);
    writeFileSync(file, damaged);
    await expect(headless().get("A_KEY")).rejects.toMatchObject({ code: "unavailable" });
    await expect(headless().set("B_KEY", "x")).rejects.toMatchObject({ code: "unavailable" });
    expect(readFileSync(file, "utf8")).toBe(damaged);
  });

  it("loses none of the secrets that several windows add at once", async () => {
    const names = Array.from({ length: 6 }, (_, index) => `KEY_${index}`);
    await Promise.all(names.map((name) => headless().set(name, name)));
    expect(await headless().list()).toEqual(names);
  });
});
