import type { OutlineEntry } from "../../contract/context.ts";
import type { AskEditor } from "../../contract/editor.ts";
import { LancelotError } from "../../contract/errors.ts";
import { formatBytes } from "../text/output-bounds.ts";
import { createGrammars } from "./grammars.ts";
import { languageOf } from "./languages.ts";

/** Maximum length of a text to parse, in UTF-16 units. */
const maxCharacters = 1_500_000;

export interface Outline {
  language: string;
  /** `parser`: documents such as Markdown, JSON and YAML. */
  source: "tree-sitter" | "editor" | "parser";
  entries: OutlineEntry[];
  /** Why the outline may be incomplete; null when it is complete. */
  problem: string | null;
}

export interface Outliner {
  /**
   * Outlines a text with its language's grammar, its document parser, or the editor.
   * @param path relative to the workspace; its extension determines the language
   * @throws LancelotError `too_large`, `unavailable` when no parser supports this language.
   */
  outline(path: string, text: string): Promise<Outline>;
  /** True when a file of this name can be outlined without the editor. */
  reads(path: string): boolean;
}

/** @param of.distDir the built `dist/`; null when run from source */
export function createOutliner({ distDir, askEditor }: { distDir: string | null; askEditor: AskEditor | null }): Outliner {
  const grammars = createGrammars(distDir);
  return {
    async outline(path, text) {
      if (text.length > maxCharacters)
        throw new LancelotError(
          "too_large",
          `${path} is too long for an outline (${formatBytes(text.length)}). Search in it with search_workspace, or read a part of it with read_file.`,
        );
      const language = languageOf(path);
      if (language !== null) {
        const { findDefinitions } = await import("./definitions.ts");
        const found = findDefinitions(await grammars.parserFor(language.grammar), language, text);
        return { language: language.name, source: "tree-sitter", ...found };
      }
      const { outlineDocument } = await import("./documents.ts");
      const document = outlineDocument(path, text);
      if (document !== null) return { ...document, source: "parser" };
      if (askEditor !== null) {
        const { entries, language: known } = await askEditor("symbols", { path });
        if (entries.length > 0) return { language: known, source: "editor", entries, problem: null };
      }
      const editor = askEditor === null ? " and no editor is connected" : " and the editor reports no symbols";
      throw new LancelotError(
        "unavailable",
        `There is no grammar for files like ${path}${editor}. Read the file, or search it with search_workspace.`,
      );
    },
    reads: (path) => languageOf(path) !== null,
  };
}
