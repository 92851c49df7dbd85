import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import picomatch from "picomatch";
import { parse } from "yaml";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";

const PathRule = z.strictObject({
  id: z.string().regex(/^(?:secret|protected)\.[a-z-]+$/),
  sensitive: z.enum(["secret", "protected"]),
  message: z.string().min(1),
  paths: z.array(z.string().min(1)).min(1),
  except: z.array(z.string().min(1)).default([]),
  content: z.string().min(1).optional(),
  match: z.array(z.string().min(1)).min(1),
  not_match: z.array(z.string().min(1)).min(1),
});

const PathTable = z.strictObject({ version: z.literal(1), rules: z.array(PathRule).min(1) });

/** What a name says about a file. */
interface NameVerdict {
  readonly sensitive: "secret" | "protected";
  readonly rule: string;
  /** When set, only a file whose text matches is sensitive. */
  readonly content: RegExp | null;
}

export interface PathRules {
  /**
   * Judges a path by its names. `absolute` is searched for secrets, `relative` (the part below the workspace; the absolute
   * path again when outside) for protected files. Several verdicts come back only while the earlier ones depend on content.
   */
  judge(absolute: string, relative: string): NameVerdict[];
  /** The sentence of a rule. */
  message(rule: string): string | null;
  /** SHA-256 (hex) over the table. */
  readonly version: string;
}

interface CompiledRule extends NameVerdict {
  readonly pattern: RegExp;
  readonly except: RegExp | null;
}

/**
 * Reads and checks `paths.yaml`. Each rule's own examples are tried against it.
 * @throws LancelotError `internal`, naming the rule and the example, when the table cannot be trusted.
 */
export function loadPathRules(configDir: string): PathRules {
  let text: string;
  try {
    text = readFileSync(join(configDir, "paths.yaml"), "utf8");
  } catch (error) {
    throw new LancelotError("internal", "The path rules (config/paths.yaml) cannot be read. Reinstall Lancelot.", { cause: error });
  }
  return parsePathRules(text);
}

/** As `loadPathRules`, from the text of the table. */
export function parsePathRules(text: string): PathRules {
  let table: z.output<typeof PathTable>;
  try {
    table = PathTable.parse(parse(text, { maxAliasCount: 0 }));
  } catch (error) {
    throw new LancelotError("internal", "The path rules (config/paths.yaml) are malformed. Restore the file, or reinstall Lancelot.", {
      cause: error,
    });
  }
  const messages = new Map<string, string>();
  const compiled = table.rules.map((rule): CompiledRule => {
    if (messages.has(rule.id)) throw brokenRule(rule.id, "stands twice in the table");
    messages.set(rule.id, rule.message);
    const one: CompiledRule = {
      sensitive: rule.sensitive,
      rule: rule.id,
      content: rule.content === undefined ? null : new RegExp(rule.content, "m"),
      pattern: union(rule.paths),
      except: rule.except.length === 0 ? null : union(rule.except),
    };
    for (const example of rule.match) {
      if (!forms(example).some((form) => hits(one, form))) throw brokenRule(rule.id, `does not match its example "${example}"`);
    }
    for (const example of rule.not_match) {
      if (forms(example).some((form) => hits(one, form))) throw brokenRule(rule.id, `matches "${example}", which it must not`);
    }
    return one;
  });
  const secrets = group(compiled.filter((rule) => rule.sensitive === "secret"));
  const protections = group(compiled.filter((rule) => rule.sensitive === "protected"));
  const judge = (absolute: string, relative: string): NameVerdict[] => {
    const found = secrets(forms(absolute));
    if (found.some((verdict) => verdict.content === null)) return found;
    return [...found, ...protections(forms(relative))];
  };
  // A verdict on names depends on nothing else, so it can be kept.
  const kept = new Map<string, NameVerdict[]>();
  return {
    judge(absolute, relative) {
      const key = `${absolute}\0${relative}`;
      let verdicts = kept.get(key);
      if (verdicts === undefined) {
        verdicts = judge(absolute, relative);
        if (kept.size >= 2000) kept.clear();
        kept.set(key, verdicts);
      }
      return verdicts;
    },
    message: (rule) => messages.get(rule) ?? null,
    version: hash("sha256", text, "hex"),
  };
}

function brokenRule(id: string, what: string): LancelotError {
  return new LancelotError("internal", `The path rule ${id} in config/paths.yaml ${what}. Restore the file, or reinstall Lancelot.`);
}

/** One quick test over all rules first: most paths are ordinary. */
function group(rules: readonly CompiledRule[]): (candidates: readonly string[]) => NameVerdict[] {
  const any = new RegExp(rules.map((rule) => rule.pattern.source).join("|"));
  return (candidates) => {
    const found: NameVerdict[] = [];
    for (const candidate of candidates) {
      if (any.test(candidate)) found.push(...rules.filter((rule) => hits(rule, candidate) && !found.includes(rule)));
    }
    return found;
  };
}

function hits(rule: CompiledRule, form: string): boolean {
  return rule.pattern.test(form) && !(rule.except?.test(form) ?? false);
}

function union(globs: readonly string[]): RegExp {
  return new RegExp(globs.map((glob) => picomatch.makeRe(glob, { dot: true, nonegate: true, noextglob: true }).source).join("|"));
}

const uncommon = /[^ -~]|%|:|(?:^|\/) | (?:\/|$)|[^./]\.+(?:\/|$)/;
const backup =
  /^(?:\.(?<swap>.+)\.sw[a-p]|#(?<auto>.+)#|(?<copy>.+?)(?:~|\.(?:bak|backup|old|orig|save|saved|copy|prev)|[ _-]copy| \(\d+\)))$/;

/**
 * The forms under which a path is judged: how the least particular file system would read it, with percent-escapes decoded,
 * and as the file it is an editor's copy of. More forms can only make more rules apply.
 */
export function forms(path: string): string[] {
  const slashed = path.replaceAll("\\", "/");
  const found = [fold(slashed)];
  if (slashed.includes("%")) {
    const decoded = fold(decodePercent(slashed).replaceAll("\\", "/"));
    if (!found.includes(decoded)) found.push(decoded);
  }
  for (const form of [...found]) {
    const at = form.lastIndexOf("/") + 1;
    const groups = backup.exec(form.slice(at))?.groups;
    const original = groups?.["swap"] ?? groups?.["auto"] ?? groups?.["copy"];
    if (original !== undefined) found.push(form.slice(0, at) + original);
  }
  return found;
}

/** Lower case as every file system folds it, or more (ß is ss, ſ is s), without what Windows drops from names. */
function fold(path: string): string {
  let folded = path.toLowerCase();
  if (uncommon.test(path)) {
    folded = path
      .normalize("NFKC")
      .replaceAll(/\p{Cf}|\p{Variation_Selector}/gu, "")
      .toUpperCase()
      .toLowerCase()
      .replaceAll("\\", "/")
      .split("/")
      .map((segment, index) => foldSegment(segment, index))
      .join("/");
  }
  return folded.startsWith("/") ? folded.replace(/^\/+/, "") : folded;
}

function foldSegment(segment: string, index: number): string {
  if (index === 0 && /^[a-z]:$/.test(segment)) return segment;
  const name = segment.replace(/(?!^):.*$/s, "").trim();
  return /^\.*$/.test(name) ? name : name.replace(/[. ]+$/, "");
}

/** Decodes percent-escapes until nothing changes; what is no valid escape stays. */
function decodePercent(text: string): string {
  let current = text;
  for (let round = 0; round < 5; round += 1) {
    const next = current.replaceAll(/%([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (next === current) break;
    current = next;
  }
  return current;
}
