import { CoreBlockName, type CoreBlock } from "../contract/memory.ts";
import { blockText, orderEntries } from "./core-block-text.ts";
import type { BlockVersions } from "./core-block-versions.ts";
import { fit } from "./compiler/budget-fit.ts";
import { compilePersona } from "./compiler/persona-text.ts";
import type { SecurityFilter } from "./compiler/security-filter.ts";
import { shorten } from "./compiler/shorten-to-tokens.ts";
import { viewItem } from "./item-view.ts";
import type { MemoryStore, StoredItem } from "./item-types.ts";
import type { MemoryDeps } from "./types.ts";
import type { OwnerProfileFile } from "./owner-profile-files.ts";
import type { MemorySettings } from "./memory-settings.ts";

/** An excluded candidate with its reason, as a message for the user. */
export interface Exclusion {
  readonly id: string;
  readonly reason: string;
}

/** A core block in parts: text from outside memory, and its entries. */
export interface BlockParts {
  readonly block: CoreBlockName;
  readonly cap: number;
  /** The persona or the owner's file; empty without one. */
  readonly head: string;
  /** The soul's version or the file that `head` comes from; null without one. */
  readonly source: string | null;
  /** The entries that fit, in the order of `orderEntries`. */
  readonly entries: readonly StoredItem[];
  /** All entries, in that order. */
  readonly candidates: readonly StoredItem[];
  readonly excluded: readonly Exclusion[];
}

export interface CoreBlocks {
  /** The blocks in compile order. */
  blocks(): CoreBlock[];
  /**
   * The blocks for the compiler.
   * @param of `outside`: include the persona and the owner's files. `scale`: the fraction of the cap they may use,
   * from 0 to 1, for shorter prompts. `filter`: replaces the filter of the deps.
   */
  parts(of: { readonly outside: boolean; readonly scale: number; readonly now: number; readonly filter?: SecurityFilter }): BlockParts[];
}

export interface CoreBlocksDeps {
  readonly store: Pick<MemoryStore, "block">;
  readonly settings: () => Pick<MemorySettings, "block_tokens">;
  readonly estimateTokens: (text: string) => number;
  readonly soul: MemoryDeps["soul"];
  /** The owner's `USER.md` and `RULES.md`, redacted and shortened. */
  readonly ownerFiles: () => readonly OwnerProfileFile[];
  readonly versions: BlockVersions;
  /** The reason an entry may not be compiled; null when it may. */
  readonly filter: SecurityFilter;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** The owner's file at the start of a block. */
const fileOf: Partial<Record<CoreBlockName, string>> = { human: "USER.md", operating_rules: "RULES.md" };

/** Cache size of shortened outside texts, which repeat from prompt to prompt. */
const remembered = 32;

/** The core blocks, from memory, the soul and the owner's files. Nothing here is stored. */
export function createCoreBlocks(deps: CoreBlocksDeps): CoreBlocks {
  const { store, settings, estimateTokens, soul, ownerFiles, versions, now = Date.now } = deps;
  const shortened = new Map<string, string>();

  const once = (key: string, make: () => string): string => {
    const known = shortened.get(key);
    if (known !== undefined) return known;
    const made = make();
    if (shortened.size >= remembered) shortened.clear();
    shortened.set(key, made);
    return made;
  };

  const persona = (cap: number): { head: string; source: string | null } => {
    const active = soul();
    const key = `soul ${String(cap)} ${active?.version ?? ""} ${active?.text ?? ""}`;
    return {
      head: once(key, () => compilePersona(active, cap, estimateTokens)),
      source: active === null ? null : `soul ${active.version}`,
    };
  };

  /** The part of a file that fits beside the entries. */
  const ownersFile = ({ name, text }: OwnerProfileFile, entries: readonly StoredItem[], cap: number, share: number): string => {
    const more = `There is more in ${name}.`;
    let remaining = Math.min(share, cap);
    for (;;) {
      if (remaining <= 0) return "";
      const head = once(`${name} ${String(remaining)} ${text}`, () => shorten(text, { max: remaining, estimateTokens, more }));
      const over = estimateTokens(textOf(head, entries)) - cap;
      if (head === "" || over <= 0) return head;
      remaining -= over;
    }
  };

  const parts: CoreBlocks["parts"] = ({ outside, scale, now: at, filter = deps.filter }) => {
    const caps = settings().block_tokens;
    const files = ownerFiles();
    return CoreBlockName.options.map((block) => {
      const cap = caps[block];
      const share = Math.floor(cap * scale);
      if (block === "persona") {
        const none = { block, cap, entries: [], candidates: [] };
        if (outside) return { ...none, ...persona(share), excluded: [] };
        return { ...none, head: "", source: null, excluded: soul() === null ? [] : [{ id: "core:persona", reason: elsewhere }] };
      }
      const candidates = orderEntries(store.block(block).filter(({ expiresAt }) => expiresAt === null || expiresAt > at));
      const excluded: Exclusion[] = [];
      const allowed = candidates.filter(({ id, content }) => {
        const reason = filter(content);
        if (reason !== null) excluded.push({ id, reason });
        return reason === null;
      });
      const { kept, excludedUnits } = fit(allowed, cap, (entries) => estimateTokens(textOf("", entries)));
      excluded.push(...excludedUnits.map(({ unit, tooLong }) => ({ id: unit.id, reason: noRoom(block, cap, tooLong) })));
      const file = files.find(({ name }) => name === fileOf[block]);
      if (file === undefined || !outside) {
        if (file !== undefined) excluded.push({ id: `file:${file.name}`, reason: elsewhere });
        return { block, cap, head: "", source: null, entries: kept, candidates, excluded };
      }
      // Entries come first: they were accepted when they were written. The file gets the remaining tokens.
      const head = ownersFile(file, kept, cap, share);
      if (head !== file.text) {
        const reason = `The block ${block} is limited to ${String(cap)} tokens: ${head === "" ? "the file does not fit" : "only part of the file fits"}.`;
        excluded.push({ id: `file:${file.name}`, reason });
      }
      return { block, cap, head, source: file.name, entries: kept, candidates, excluded };
    });
  };

  return {
    parts,
    blocks: () =>
      parts({ outside: true, scale: 1, now: now() }).map(({ block, cap, head, source, entries, candidates, excluded }) => {
        const text = textOf(head, entries);
        const { version, changedAt } = block === "persona" ? { version: 0, changedAt: null } : versions(block);
        return {
          block,
          tokens: text === "" ? 0 : estimateTokens(text),
          cap,
          text,
          version,
          updatedAt: changedAt === null ? null : new Date(changedAt).toISOString(),
          sources: source === null ? [] : [source],
          entries: candidates.map((item) => viewItem(item)),
          excluded: [...excluded],
        };
      }),
  };
}

/** The text of a block: the outside text, then one line per entry. */
export function textOf(head: string, entries: readonly Pick<StoredItem, "content">[]): string {
  const lines = blockText(entries.map(({ content }) => content));
  return [head, lines].filter((part) => part !== "").join("\n");
}

const elsewhere = "It is in another part of this prompt.";

function noRoom(block: CoreBlockName, cap: number, tooLong: boolean): string {
  return tooLong
    ? `It is longer than the limit of the block ${block} (${String(cap)} tokens).`
    : `The block ${block} is limited to ${String(cap)} tokens, and entries with higher confidence fill it.`;
}
