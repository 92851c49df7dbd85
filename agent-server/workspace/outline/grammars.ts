import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import type * as TreeSitter from "@vscode/tree-sitter-wasm";
import { LancelotError } from "../../contract/errors.ts";

/** Loads tree-sitter and its grammars on first use. */
export interface Grammars {
  /** @throws LancelotError `unavailable` when the grammar file is missing. */
  parserFor(grammar: string): Promise<TreeSitter.Parser>;
}

/** @param distDir the built `dist/` with compressed grammars; null when run from source, which uses the installed package */
export function createGrammars(distDir: string | null): Grammars {
  const require = createRequire(import.meta.url);
  const parsers = new Map<string, Promise<TreeSitter.Parser>>();
  let library: Promise<typeof TreeSitter> | null = null;

  async function wasm(folder: string, name: string): Promise<Uint8Array> {
    const plain = join(folder, `${name}.wasm`);
    if (existsSync(plain)) return readFile(plain);
    return promisify(brotliDecompress)(await readFile(`${plain}.br`));
  }

  const folder = (): string => (distDir === null ? dirname(require.resolve("@vscode/tree-sitter-wasm")) : join(distDir, "grammars"));

  async function loadLibrary(): Promise<typeof TreeSitter> {
    const from = folder();
    // The library locates its WebAssembly file by its own file name, so it cannot be bundled.
    const loaded = require(join(from, distDir === null ? "tree-sitter.js" : "tree-sitter.cjs")) as typeof TreeSitter;
    const options: { locateFile: () => string; wasmBinary: Uint8Array } = {
      locateFile: () => join(from, "tree-sitter.wasm"),
      wasmBinary: await wasm(from, "tree-sitter"),
    };
    await loaded.Parser.init(options);
    return loaded;
  }

  async function load(grammar: string): Promise<TreeSitter.Parser> {
    try {
      library ??= loadLibrary();
      const { Language, Parser } = await library;
      const language = await Language.load(await wasm(folder(), grammar));
      return new Parser().setLanguage(language);
    } catch (cause) {
      throw new LancelotError("unavailable", "The grammar for this language could not be loaded. Read the file instead.", { cause });
    }
  }

  return {
    parserFor(grammar) {
      let parser = parsers.get(grammar);
      if (parser === undefined) {
        parser = load(grammar);
        parsers.set(grammar, parser);
        // Retries a failed load on the next call.
        parser.catch(() => {
          parsers.delete(grammar);
          library = null;
        });
      }
      return parser;
    },
  };
}
