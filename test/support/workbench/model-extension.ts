import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVSIX } from "@vscode/vsce";

const manifest = {
  name: "played-models",
  publisher: "played",
  version: "1.0.0",
  engines: { vscode: "^1.104.0" },
  main: "./extension.js",
  activationEvents: ["*"],
  contributes: { languageModelChatProviders: [{ vendor: "played", displayName: "Played models" }] },
};

/** Calls `list_files` when it has tools and no result yet, then says how many files it saw. */
const code = `
const vscode = require("vscode");
exports.activate = (context) => {
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider("played", {
    provideLanguageModelChatInformation: () => [{
      id: "counter", name: "Counter", family: "played", version: "1", maxInputTokens: 60000, maxOutputTokens: 4000,
      capabilities: { toolCalling: true, imageInput: false },
    }],
    async provideLanguageModelChatResponse(model, messages, options, progress) {
      const parts = messages.flatMap(({ content }) => content);
      const result = parts.find((part) => part instanceof vscode.LanguageModelToolResultPart);
      if (result === undefined && options.tools.some(({ name }) => name === "list_files")) {
        progress.report(new vscode.LanguageModelToolCallPart("call-1", "list_files", { path: "." }));
        return;
      }
      const text = result === undefined ? "" : result.content.map(({ value }) => value).join("");
      for (const word of ["The editor's ", "model saw ", text.includes("package.json") ? "package.json." : "nothing."])
        progress.report(new vscode.LanguageModelTextPart(word));
    },
    provideTokenCount: async (model, text) => 5,
  }));
};
`;

/** A VSIX of an extension that offers a language model through the editor, as Copilot does. */
export async function modelExtension(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "lancelot-model-extension-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "extension.js"), code);
  writeFileSync(join(folder, "README.md"), "# Played models\n");
  const packagePath = join(folder, "played-models.vsix");
  await createVSIX({ cwd: folder, packagePath, dependencies: false, skipLicense: true, allowMissingRepository: true });
  return packagePath;
}
