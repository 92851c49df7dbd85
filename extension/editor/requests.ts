import * as vscode from "vscode";
import { type EditorParams, type EditorRequest, type EditorResult, editorRequests, wire } from "../../agent-server/contract/editor.ts";
import { applyText } from "./apply-text.ts";
import { readDiagnostics } from "./diagnostics.ts";
import { createLanguageModels } from "./language-models.ts";
import { createEditorSecrets } from "./secrets.ts";
import { readOpenEditors } from "./open-editors.ts";
import { readDefinition, readReferences, readSymbols } from "./symbols.ts";
import { uriOf } from "./workspace-path.ts";

type Answers = { [N in EditorRequest]: (params: EditorParams<N>) => Promise<EditorResult<N>> | EditorResult<N> };

/** Handlers of the host's requests to the editor, by wire name. They parse their params. */
export function editorAnswers(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
): ReadonlyMap<string, (params: unknown) => Promise<unknown>> {
  const languageModels = createLanguageModels();
  const secrets = createEditorSecrets(context.secrets, context.globalState);
  const answers: Answers = {
    diagnostics: ({ path }) => readDiagnostics(path),
    openEditors: readOpenEditors,
    symbols: readSymbols,
    references: readReferences,
    definition: readDefinition,
    unsavedText: ({ path }) => ({ text: unsavedText(uriOf(path)) }),
    applyText: ({ path, expected, text }) => applyText(uriOf(path), expected, text),
    secretGet: async ({ name }) => ({ value: await secrets.get(name) }),
    secretSet: async ({ name, value }) => {
      await secrets.set(name, value);
      return {};
    },
    secretList: () => ({ names: secrets.list() }),
    languageModels: () => languageModels.list(),
    languageModelStart: languageModels.start,
    languageModelNext: languageModels.next,
    languageModelStop: languageModels.stop,
  };
  return new Map(
    (Object.keys(editorRequests) as EditorRequest[]).map((name) => [
      wire.editor(name),
      async (params: unknown) => {
        try {
          return await answer(answers, name, params);
        } catch (error) {
          log.warn(`editor/${name}: ${error instanceof Error ? error.message : String(error)}`);
          throw error;
        }
      },
    ]),
  );
}

/** The table guarantees that the parsed params are those of `name`; the compiler cannot follow that through a union. */
function answer(answers: Answers, name: EditorRequest, params: unknown): unknown {
  const run = answers[name] as (params: unknown) => unknown;
  return run(editorRequests[name].params.parse(params));
}

function unsavedText(uri: vscode.Uri): string | null {
  const document = vscode.workspace.textDocuments.find((open) => open.isDirty && open.uri.toString() === uri.toString());
  return document?.getText() ?? null;
}
