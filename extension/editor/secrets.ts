import type * as vscode from "vscode";

const namesKey = "secretNames";
const prefix = "secret.";

/** Secrets in SecretStorage, which cannot list its keys: a memento keeps the names, never the values. */
export function createEditorSecrets(secrets: vscode.SecretStorage, state: vscode.Memento) {
  const names = () => state.get<string[]>(namesKey, []);
  return {
    async get(name: string): Promise<string | null> {
      return (await secrets.get(prefix + name)) ?? null;
    },
    async set(name: string, value: string | null): Promise<void> {
      const others = names().filter((known) => known !== name);
      if (value === null) {
        await secrets.delete(prefix + name);
        await state.update(namesKey, others);
        return;
      }
      await secrets.store(prefix + name, value);
      await state.update(namesKey, [...others, name].sort());
    },
    list: names,
  };
}
