import { createHmac } from "node:crypto";
import type { PiiKind, PiiMatch } from "../pii/types.ts";
import { type KnownSecrets, replaceKnown } from "../known-secrets/known-secrets.ts";
import { replaceSecrets } from "../find-secrets.ts";
import { inspectKnown, redactValue } from "../redactor.ts";
import type { Finding } from "../types.ts";
import {
  exactIn,
  hashesIn,
  hashForm,
  type HiddenKind,
  isMasked,
  maskPlaceholders,
  placeholderOf,
  replacePlaceholders,
} from "./placeholder-format.ts";
import { createHiddenTextCache } from "./hidden-text-cache.ts";
import { createKnownValues } from "./known-values.ts";
import type { QuestPlaceholders } from "./types.ts";

/** A learned value. */
interface Entry {
  kind: HiddenKind;
  readonly value: string;
  /** Files that contained it during this quest. */
  readonly places: Set<string>;
}

/** Maximum passes over a text: replacing one value can expose another. */
const maxPasses = 5;

/** @param known the values of secret files, which are hidden in every quest */
export function createQuestPlaceholders(key: Buffer, known?: KnownSecrets): QuestPlaceholders {
  const byHash = new Map<string, Entry>();
  const byValue = new Map<string, string>();
  const knownSecrets = createKnownValues();
  const knownPersonal = new Map<PiiKind, ReturnType<typeof createKnownValues>>();
  const cache = createHiddenTextCache();
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

  /** Learns a value without line breaks and returns its placeholder. `again`: also hide it where no context identifies it. */
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

  const restoreAll = (text: string): string => replacePlaceholders(text, (hash) => byHash.get(hash)?.value ?? null);

  /** Hides a value line by line, so that line numbers stay correct; white space around a line is kept. */
  function conceal(kind: HiddenKind, found: string, again: boolean): string {
    return found.replace(/[^\r\n]+/g, (line) => {
      const bare = line.trim();
      if (bare === "" || isHeader(bare, found)) return line;
      const at = line.indexOf(bare);
      return line.slice(0, at) + learn(kind, restoreAll(bare), again) + line.slice(at + bare.length);
    });
  }

  /** Hides the values of secret files. They are not learned again, because `known` finds them everywhere and in every form. */
  function hideKnownSecrets(text: string, findings: Finding[]): string {
    return replaceKnown(text, known?.find(text) ?? [], (kind, secret) => {
      const placeholder = conceal("secret", secret, false);
      findings.push({ kind, placeholder });
      return placeholder;
    });
  }

  /** Increases when a value is learned here or from a secret file. */
  const currentVersion = (): number => version + (known?.version ?? 0);

  function hideSecrets(text: string, findings: Finding[] = []): string {
    let result = text;
    for (let round = 0; round < maxPasses; round += 1) {
      const before = result;
      result = knownSecrets.replace(
        replaceSecrets(hideKnownSecrets(result, findings), (kind, secret) => {
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
    const masked = maskPlaceholders(text);
    let result = "";
    let done = 0;
    for (const { start, end, kind } of matches) {
      if (start < done || end <= start || end > text.length || !kinds.has(kind) || isMasked(masked.slice(start, end))) continue;
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
        const findings: Finding[] = [];
        return { text: hideSecrets(value, findings), findings };
      },
      value: (value, maxBytes) =>
        redactValue(
          value,
          maxBytes,
          (part) => hideSecrets(part),
          (kind, secret) => conceal("secret", secret, isDistinct(kind, secret)),
        ),
      inspect: (value) => inspectKnown(value, known),
    },
    hide(text, rules, more = []) {
      const cached = cache.get(text, rules);
      if (cached !== null && more.length === 0) {
        const result = cached.version === currentVersion() ? cached.text : self.hideKnown(cached.text, rules.kinds);
        cache.set(text, rules, { text: result, version: currentVersion() });
        return result;
      }
      let result = hideSecrets(text);
      if (more.length > 0) result = replaceMatches(result, more, rules.kinds);
      for (let round = 0; round < maxPasses; round += 1) {
        const before = result;
        const found = replaceMatches(result, rules.detector.find(maskPlaceholders(result)), rules.kinds);
        result = hideSecrets(self.hideKnown(found, rules.kinds));
        if (result === before) break;
      }
      cache.set(text, rules, { text: result, version: currentVersion() });
      return result;
    },
    hideKnown(text, kinds) {
      let result = knownSecrets.replace(hideKnownSecrets(text, []));
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
    hasPlaceholders: (text) => hashesIn(text).length > 0,
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
      return currentVersion();
    },
    clearCache: () => cache.clear(),
  };
  return self;
}

/** The first and last line of a PEM key are not secret. */
function isHeader(line: string, found: string): boolean {
  return line.length < found.length && /^-----(?:BEGIN|END) [A-Z0-9 ]{1,60}-----\\?,?["']?$/.test(line);
}

/** True for secrets that can be recognized anywhere: those with a known format, and values unlike any ordinary word. */
function isDistinct(kind: string, secret: string): boolean {
  if (!namedKinds.has(kind)) return secret.length >= 8;
  return secret.length >= 12 && /\d/.test(secret) && /[A-Za-z]/.test(secret) && !/^[a-z]+(?:[-_.][a-z]+)*[-_.]?\d{1,4}$/i.test(secret);
}

/** Kinds of secrets that are detected by the name they are assigned to. */
const namedKinds: ReadonlySet<string> = new Set(["password", "api-key", "secret", "token", "credential", "url-password"]);
