import { isPlaceholder } from "./secret-formats.ts";

/** Secrets without a recognizable format, detected by the name they are assigned to: `password=`, `"apiKey": "…"`, `--token …`. */

const password = String.raw`pass(?:word|wd|phrase)|passcode|pwd`;
const key = String.raw`(?:api|access|account|private|signing|encryption|master|shared|auth|service|secret|storage|subscription|license)[_-]?key`;
const nameSource = `${password}|${key}|secret|token|credentials?`;

/** Name, rest of the word, separator, and value (quoted with ", ' or `, or bare up to a delimiter). */
const assignment = new RegExp(
  String.raw`(?<lead>--)?(?<name>${nameSource})(?<rest>[A-Za-z0-9_-]{0,32})(?<sep>\\?["'\x60]?\]?\s{0,4}(?:=>|:=|={1,3}|:)\s{0,4}|\s(?<=--[\w-]{1,80}\s))` +
    String.raw`(?:\\?"(?<double>[^"\r\n]{1,500})"|\\?'(?<single>[^'\r\n]{1,500})'|\x60(?<back>[^\x60\r\n]{1,500})\x60|(?<bare>[^\s"'\x60,;&(){}\[\]<>|\\]{4,500})(?<after>[([.]?))`,
  "gi",
);

const anyName = new RegExp(nameSource, "i");

/** Suffixes that make a name refer to something other than the secret: `tokenCount`, `password_file`, `secretName`. */
const nonSecretSuffixes = new Set(
  (
    "s count counts limit length len size type types name names id ids ident identifier url uri endpoint path file files dir field label text title " +
    "message placeholder input index offset position start end expiry expire expires expiration expired ttl age at regex pattern policy rule rules hint ref " +
    "arn env var budget usage used per kind mode format store manager provider service class color scope scopes icon error errors required visible " +
    "enabled valid reset strength izer ized ize ization"
  ).split(" "),
);

function hasNonSecretSuffix(rest: string): boolean {
  const first = /^[_-]?([A-Z]?[a-z]+|[A-Z]+)/.exec(rest)?.[1];
  return first !== undefined && nonSecretSuffixes.has(first.toLowerCase());
}

const typeWords =
  /^(?:string|number|boolean|bool|int\d*|str|bytes|object|any|unknown|never|void|null|none|nil|undefined|true|false|optional|required|secretstr|uint8array|buffer)\b/i;

function secretKind(name: string): string {
  const lower = name.toLowerCase();
  if (lower.startsWith("pass") || lower === "pwd") return "password";
  if (lower.endsWith("key")) return "api-key";
  return lower.startsWith("credential") ? "credential" : lower;
}

const isPassword = (name: string): boolean => secretKind(name) === "password";

/** True for a mix of letters and digits that is typical of generated values, unlike `word-2` or `sha256`. */
function looksGenerated(value: string): boolean {
  if (value.length < 12 || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (/^[A-Za-z]+(?:[-_./: ][A-Za-z]+)*[-_./: ]?(?:v?\d{1,4})?$/.test(value)) return false;
  const distinct = new Set(value).size;
  return distinct >= Math.min(10, value.length / 2);
}

function isSecretValue(groups: Readonly<Record<string, string | undefined>>, before: string, after: string): boolean {
  const name = groups["name"] ?? "";
  const separator = groups["sep"] ?? "";
  const quoted = groups["double"] ?? groups["single"] ?? groups["back"];
  const value = (quoted ?? groups["bare"] ?? "").replace(/\\$/, "");
  if (isPlaceholder(value) || hasNonSecretSuffix(groups["rest"] ?? "") || /^={2,3}$/.test(separator.trim())) return false;
  // A path or URL is the location of a secret, and an upper-case name is the variable that contains it.
  if (/^(?:\.{0,2}\/|~\/|[A-Za-z]:\\|https?:|file:)/.test(value) || /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(value)) return false;
  if (quoted !== undefined) {
    if (/\s/.test(value)) return false;
    return isPassword(name)
      ? value.length >= 4 && /[\d\W_]/.test(value) && !/^[a-z]+(?:[-_.][a-z]+)+$/i.test(value)
      : looksGenerated(value);
  }
  // Bare values: in code they are calls, member accesses and types; in configuration and shells they are the secret itself.
  if (groups["after"] !== "" || typeWords.test(value) || /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+!?$/.test(value)) return false;
  if (before === "." || before === "$" || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (/^[+/*=-]/.test(value)) return false;
  const tight = !/\s/.test(separator) || groups["lead"] === "--";
  const wholeLine = after === "" || after === "\n" || after === "\r";
  if (isPassword(name)) return (tight && (value.length >= 6 || wholeLine)) || (wholeLine && !/^[A-Z][a-z]+\d*[A-Z]?[a-z]*\d*$/.test(value));
  // A type name (`token: X509Token`) has its digits in one place only.
  return looksGenerated(value) && (tight || !/^[A-Z][A-Za-z]*\d{1,4}[A-Za-z]*$/.test(value));
}

/** Replaces values assigned to secret names with the result of `found`. */
export function redactAssignments(text: string, found: (kind: string, secret: string) => string): string {
  if (!anyName.test(text)) return text;
  return text.replace(assignment, (...args: unknown[]) => {
    const match = args[0] as string;
    const groups = args.at(-1) as Record<string, string | undefined>;
    const offset = args.at(-3) as number;
    const end = offset + match.length;
    if (!isSecretValue(groups, text.charAt(offset - 1), text.charAt(end))) return match;
    const value = (groups["double"] ?? groups["single"] ?? groups["back"] ?? groups["bare"] ?? "").replace(/\\$/, "");
    const at = match.lastIndexOf(value);
    return match.slice(0, at) + found(secretKind(groups["name"] ?? ""), value) + match.slice(at + value.length);
  });
}

const secretKey = new RegExp(`(?:${nameSource}|authorization|cookie|secrets|passwords)$`, "i");

/** The kind of secret that a JSON key or header name denotes, or null. */
export function secretKeyKind(key: string): string | null {
  if (key.length > 100) return null;
  const found = secretKey.exec(key.replace(/[^A-Za-z0-9]+$/, ""));
  if (found === null) return null;
  const name = found[0].toLowerCase();
  return name === "authorization" || name === "cookie" ? name : secretKind(name.replace(/s$/, ""));
}
