import { trimEnd } from "../../contract/trim-end.ts";
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import picomatch from "picomatch";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { parseShipped } from "../../shipped-yaml.ts";

const PathRule = z.strictObject({
  id: z.string().regex(/^(?:secret|protected|obeyed)\.[a-z-]+$/),
  sensitive: z.enum(["secret", "protected", "obeyed"]),
  message: z.string().min(1),
  paths: z.array(z.string().min(1)).min(1),
  except: z.array(z.string().min(1)).default([]),
  content: z.string().min(1).optional(),
  match: z.array(z.string().min(1)).min(1),
  not_match: z.array(z.string().min(1)).min(1),
});

const PathTable = z.strictObject({ version: z.literal(1), rules: z.array(PathRule).min(1) });

/** A verdict from a file's name. */
interface NameVerdict {
  readonly sensitive: "secret" | "protected";
  readonly rule: string;
  /** When set, a file is sensitive only if its text matches. */
  readonly content: RegExp | null;
}

export interface PathRules {
  /**
   * Judges a path by its names: `absolute` against the secret rules, `relative` (the part below the workspace; the absolute
   * path when outside) against the protected rules. Returns several verdicts only when earlier ones depend on content.
   */
  judge(absolute: string, relative: string): NameVerdict[];
  /** Why a file is reviewed on its own, by the first rule that says so; null for others. @param relative as for `judge` */
  obeyed(relative: string): string | null;
  /** The message of a rule. */
  message(rule: string): string | null;
  /** SHA-256 (hex) of the table. */
  readonly version: string;
}

interface CompiledRule extends Omit<NameVerdict, "sensitive"> {
  readonly sensitive: NameVerdict["sensitive"] | "obeyed";
  readonly pattern: RegExp;
  readonly except: RegExp | null;
}

/**
 * Loads and validates `paths.yaml`, including each rule's examples.
 * @throws LancelotError `internal`, naming the rule and the example, when the table is invalid.
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

/** Same as `loadPathRules`, from the table's text. */
export function parsePathRules(text: string): PathRules {
  let table: z.output<typeof PathTable>;
  let shipped: boolean;
  try {
    // The table may repeat a list by an alias.
    const parsed = parseShipped(text, 10);
    shipped = parsed.shipped;
    table = PathTable.parse(parsed.value);
  } catch (error) {
    throw new LancelotError("internal", "The path rules (config/paths.yaml) are malformed. Restore the file, or reinstall Lancelot.", {
      cause: error,
    });
  }
  const messages = new Map<string, string>();
  for (const { id, message } of table.rules) {
    if (messages.has(id)) throw brokenRule(id, "is defined twice");
    messages.set(id, message);
  }
  const compile = (rule: z.output<typeof PathRule>): CompiledRule => {
    const one: CompiledRule = {
      sensitive: rule.sensitive,
      rule: rule.id,
      content: rule.content === undefined ? null : new RegExp(rule.content, "m"),
      pattern: union(rule.paths),
      except: rule.except.length === 0 ? null : union(rule.except),
    };
    for (const example of shipped ? [] : rule.match) {
      if (!forms(example).some((form) => hits(one, form))) throw brokenRule(rule.id, `does not match its example "${example}"`);
    }
    for (const example of shipped ? [] : rule.not_match) {
      if (forms(example).some((form) => hits(one, form))) throw brokenRule(rule.id, `matches "${example}", which it must not`);
    }
    return one;
  };
  const compileAll = () => {
    const rules = table.rules.map(compile);
    return {
      secrets: group(rules.filter((rule) => rule.sensitive === "secret")),
      protections: group(rules.filter((rule) => rule.sensitive === "protected")),
      obeyed: group(rules.filter((rule) => rule.sensitive === "obeyed")),
    };
  };
  // A table that is not the shipped one is tried at once; the shipped one is compiled with the first path.
  let groups = shipped ? undefined : compileAll();
  const judge = (absolute: string, relative: string): NameVerdict[] => {
    const { secrets, protections } = (groups ??= compileAll());
    const found = secrets(forms(absolute)) as NameVerdict[];
    if (found.some((verdict) => verdict.content === null)) return found;
    return [...found, ...(protections(forms(relative)) as NameVerdict[])];
  };
  // A verdict depends on the names alone, so it can be cached.
  const cache = new Map<string, NameVerdict[]>();
  return {
    judge(absolute, relative) {
      const key = `${absolute}\0${relative}`;
      let verdicts = cache.get(key);
      if (verdicts === undefined) {
        verdicts = judge(absolute, relative);
        if (cache.size >= 2000) cache.clear();
        cache.set(key, verdicts);
      }
      return verdicts;
    },
    obeyed(relative) {
      const [first] = (groups ??= compileAll()).obeyed(forms(relative));
      return first === undefined ? null : (messages.get(first.rule) ?? null);
    },
    message: (rule) => messages.get(rule) ?? null,
    version: hash("sha256", text, "hex"),
  };
}

function brokenRule(id: string, what: string): LancelotError {
  return new LancelotError("internal", `The path rule ${id} in config/paths.yaml ${what}. Restore the file, or reinstall Lancelot.`);
}

/** Tests one combined pattern first, because most paths match no rule. */
function group(rules: readonly CompiledRule[]): (candidates: readonly string[]) => CompiledRule[] {
  if (rules.length === 0) return () => [];
  const any = new RegExp(rules.map((rule) => rule.pattern.source).join("|"));
  return (candidates) => {
    const found: CompiledRule[] = [];
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
  return new RegExp(globs.map((glob) => `^(?:${picomatch.makeRe(glob, { dot: true, nonegate: true, noextglob: true }, true)})$`).join("|"));
}

const uncommon = /[^ -~]|%|:|(?:^|\/) | (?:\/|$)|[^./]\.+(?:\/|$)/;
const backup =
  /^(?:\.(?<swap>.+)\.sw[a-p]|#(?<auto>.+)#|(?<copy>.+?)(?:~|\.(?:bak|backup|old|orig|save|saved|copy|prev)|[ _-]copy| \(\d+\)))$/;

/**
 * The spellings of a path that are judged: normalized as the most permissive file system would, percent-decoded,
 * and the original name of an editor's backup copy. More spellings can only make more rules apply.
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

/** Folds case at least as much as any file system (ß is ss, ſ is s), and drops what Windows drops from names. */
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
  const name = segment.replace(/(?!^):.*/s, "").trim();
  return /^\.*$/.test(name) ? name : trimEnd(name, ". ");
}

/** Percent-decodes repeatedly until nothing changes; invalid escapes stay. */
function decodePercent(text: string): string {
  let current = text;
  for (let round = 0; round < 5; round += 1) {
    const next = current.replaceAll(/%([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (next === current) break;
    current = next;
  }
  return current;
}
