import { createHmac } from "node:crypto";
import type { PiiKind, PiiMatch } from "../pii/types.ts";
import { redactValue, replaceSecrets } from "../redactor.ts";
import type { Finding } from "../types.ts";
import { blotted, exactIn, hashesIn, hashForm, type HiddenKind, isBlotted, placeholderOf, replacePlaceholders } from "./placeholder-format.ts";
import { createHiddenTexts } from "./hidden-text-cache.ts";
import { createKnownValues } from "./known-values.ts";
import type { QuestPlaceholders } from "./types.ts";

/** What is known of one value. */
interface Entry {
  kind: HiddenKind;
  readonly value: string;
  /** Files that hold it, or held it in this quest. */
  readonly places: Set<string>;
}

/** A text hides what hiding reveals at most so many times over; each time less is left that could be found. */
const rounds = 5;

export function createQuestPlaceholders(key: Buffer): QuestPlaceholders {
  const byHash = new Map<string, Entry>();
  const byValue = new Map<string, string>();
  const knownSecrets = createKnownValues();
  const knownPersonal = new Map<PiiKind, ReturnType<typeof createKnownValues>>();
  const cache = createHiddenTexts();
  let version = 0;

  function hashOf(value: string): string {
    const known = byValue.get(value);
    if (known !== undefined) return known;
    for (let copy = 0; ; copy += 1) {
      const hash = hashForm(
        createHmac("sha256", key)
          .update(copy === 0 ? value : `${value}\0${String(copy)}`)
          .digest(),
      );
      const taken = byHash.get(hash);
      if (taken === undefined || taken.value === value) return hash;
    }
  }

  /** The placeholder of a value without line breaks. */
  function learn(kind: HiddenKind, value: string, again: boolean): string {
    const hash = hashOf(value);
    const entry = byHash.get(hash);
    if (entry === undefined || (kind === "secret" && entry.kind !== "secret")) {
      byHash.set(hash, { kind, value, places: entry?.places ?? new Set() });
      byValue.set(value, hash);
      version += 1;
      const placeholder = placeholderOf(kind, hash);
      if (again && kind === "secret") knownSecrets.add(value, placeholder);
      if (again && kind !== "secret") {
        const group = knownPersonal.get(kind) ?? createKnownValues();
        knownPersonal.set(kind, group);
        group.add(value, placeholder);
      }
    }
    return placeholderOf(byHash.get(hash)?.kind ?? kind, hash);
  }

  const everything = (text: string): string => replacePlaceholders(text, (hash) => byHash.get(hash)?.value ?? null);

  /** Line by line, so that numbers of lines and line-wise tools stay right; blanks around a line stay. */
  function conceal(kind: HiddenKind, found: string, again: boolean): string {
    return found.replace(/[^\r\n]+/g, (line) => {
      const bare = line.trim();
      if (bare === "" || isHeader(bare, found)) return line;
      const at = line.indexOf(bare);
      return line.slice(0, at) + learn(kind, everything(bare), again) + line.slice(at + bare.length);
    });
  }

  function hideSecrets(text: string, findings: Finding[] = []): string {
    let result = text;
    for (let round = 0; round < rounds; round += 1) {
      const before = result;
      result = knownSecrets.replace(
        replaceSecrets(result, (kind, secret) => {
          const placeholder = conceal("secret", secret, isDistinct(kind, secret));
          findings.push({ kind, placeholder });
          return placeholder;
        }),
      );
      if (result === before) break;
    }
    return result;
  }

  function replaceMatches(text: string, matches: readonly PiiMatch[], kinds: ReadonlySet<PiiKind>): string {
    const masked = blotted(text);
    let result = "";
    let done = 0;
    for (const { start, end, kind } of matches) {
      if (start < done || end <= start || end > text.length || !kinds.has(kind) || isBlotted(masked.slice(start, end))) continue;
      const value = text.slice(start, end);
      result += text.slice(done, start) + conceal(kind, value, value.length >= 3 && !/^\d{1,5}$/.test(value));
      done = end;
    }
    return done === 0 ? text : result + text.slice(done);
  }

  const isSecret = (hash: string): boolean => byHash.get(hash)?.kind === "secret";

  const self: QuestPlaceholders = {
    secrets: {
      text(value) {
        if (value.length < 8) return { text: value, findings: [] };
        const findings: Finding[] = [];
        return { text: hideSecrets(value, findings), findings };
      },
      value: (value, maxBytes) =>
        redactValue(
          value,
          maxBytes,
          (part) => (part.length < 8 ? part : hideSecrets(part)),
          (kind, secret) => conceal("secret", secret, isDistinct(kind, secret)),
        ),
    },
    hide(text, rules, more = []) {
      const kept = cache.get(text, rules);
      if (kept !== null && more.length === 0) {
        const result = kept.version === version ? kept.text : self.hideKnown(kept.text, rules.kinds);
        cache.set(text, rules, { text: result, version });
        return result;
      }
      let result = hideSecrets(text);
      if (more.length > 0) result = replaceMatches(result, more, rules.kinds);
      for (let round = 0; round < rounds; round += 1) {
        const before = result;
        const found = replaceMatches(result, rules.detector.find(blotted(result)), rules.kinds);
        result = hideSecrets(self.hideKnown(found, rules.kinds));
        if (result === before) break;
      }
      cache.set(text, rules, { text: result, version });
      return result;
    },
    hideKnown(text, kinds) {
      let result = knownSecrets.replace(text);
      for (const [kind, known] of knownPersonal) if (kinds.has(kind)) result = known.replace(result);
      return result;
    },
    restorePersonal: (text) => replacePlaceholders(text, (hash) => (isSecret(hash) ? null : (byHash.get(hash)?.value ?? null))),
    secretsIn(text) {
      const found: ReturnType<QuestPlaceholders["secretsIn"]> = [];
      replacePlaceholders(text, (hash, written) => {
        const entry = byHash.get(hash);
        if (entry?.kind === "secret") found.push({ written, value: entry.value, places: entry.places });
        return null;
      });
      return found;
    },
    learnFrom(place, text) {
      const hidden = hideSecrets(text);
      for (const hash of hashesIn(hidden)) byHash.get(hash)?.places.add(place);
      return hidden;
    },
    restoreSecrets: (text) => replacePlaceholders(text, (hash) => (isSecret(hash) ? (byHash.get(hash)?.value ?? null) : null)),
    mentionedIn: (text) => hashesIn(text).length > 0,
    unknownIn: (text) => [...new Set(exactIn(text).flatMap(({ written, hash }) => (byHash.has(hash) ? [] : [written])))],
    countIn(texts) {
      const seen = new Set<string>();
      for (const text of texts) for (const hash of hashesIn(text)) seen.add(hash);
      const counts: Record<string, number> = {};
      for (const hash of seen) {
        const kind = byHash.get(hash)?.kind;
        if (kind !== undefined) counts[kind] = (counts[kind] ?? 0) + 1;
      }
      return counts;
    },
    get version() {
      return version;
    },
    rest: () => cache.clear(),
  };
  return self;
}

/** The first and last line of a key are no secret, and say what it is. */
function isHeader(line: string, found: string): boolean {
  return line.length < found.length && /^-----(?:BEGIN|END) [A-Z0-9 ]{1,60}-----\\?,?["']?$/.test(line);
}

/** Those that show by a form of their own, and others that no ordinary word could be, are secrets wherever they stand. */
function isDistinct(kind: string, secret: string): boolean {
  if (!namedKinds.has(kind)) return secret.length >= 8;
  return secret.length >= 12 && /\d/.test(secret) && /[A-Za-z]/.test(secret) && !/^[a-z]+(?:[-_.][a-z]+)*[-_.]?\d{1,4}$/i.test(secret);
}

/** Kinds of secrets that are known by the name they were given. */
const namedKinds: ReadonlySet<string> = new Set(["password", "api-key", "secret", "token", "credential", "url-password"]);
