import { isMixed, isPlaceholder } from "./secret-formats.ts";

/** Secrets without a recognizable format, detected by the name they are assigned to: `password=`, `"apiKey": "…"`, `--token …`. */

/** The characters before `pass` where it follows no underscore or dash. */
const services = "db|pg|my|sql|smtp|ftp|imap|ldap|mail|user|root|admin|redis|mongo|rabbit|ssh|key|proxy|http|auth|login";
const password = String.raw`pass(?:word|wd|phrase)|passcode|pwd|(?:(?<![a-z])|(?<=(?:${services})))pass(?![a-z])`;
const key = String.raw`(?:api|access|account|private|signing|encryption|master|shared|auth|service|secret|storage|subscription|license)[_-]?key`;
const nameSource = `${password}|${key}|secret|token|credentials?`;

/** Name, rest of the word, separator, and value (quoted with ", ' or `, or bare up to a delimiter). */
const assignment = new RegExp(
  String.raw`(?<lead>--)?(?<name>${nameSource})(?<rest>[A-Za-z0-9_-]{0,32})(?<sep>\\{0,7}["'\x60]?\]?\s{0,4}(?:=>|:=|={1,3}|:)\s{0,4}|\s(?<=--[\w-]{1,80}\s))` +
    String.raw`(?:\\{0,7}"(?<double>[^"\r\n]{1,500})"|\\{0,7}'(?<single>[^'\r\n]{1,500})'|\x60(?<back>[^\x60\r\n]{1,500})\x60|(?<bare>[^\s"'\x60,;&(){}\[\]<>|\\]{4,500})(?<after>[([.]?))`,
  "gi",
);

const anyName = new RegExp(nameSource, "i");

/** Suffixes that make a name refer to something other than the secret: `tokenCount`, `password_file`, `secretName`. */
const nonSecretSuffixes = new Set(
  (
    "s count counts limit length len size type types name names id ids ident identifier url uri endpoint path file files dir field label text title " +
    "message placeholder input index offset position start end expiry expire expires expiration expired ttl age at regex pattern policy rule rules hint ref " +
    "arn env var budget usage used per kind mode format store manager provider service class color scope scopes icon error errors required visible " +
    "enabled valid reset strength header headers prefix suffix ed ing word words izer ized ize ization"
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

/** True for a path or URL, which is the location of a secret, and for an upper-case name, which is the variable that contains it. */
function isLocation(value: string): boolean {
  return /^(?:\.{0,2}\/|~\/|[A-Za-z]:\\|https?:|file:)/.test(value) || /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(value);
}

const isKeyOrSecret = (name: string): boolean => /key$|^secret$/i.test(name);

/** Names that also label an input or a result: `token: "keyword 2"`, `pass: "All 3 tests passed"`. */
const isLabelName = (name: string): boolean => /^(?:token|credentials?|pass)$/i.test(name);

/** True for a quoted value of several words that no user interface would show: lower case, with a digit, and no sentence. */
function isPhrase(value: string): boolean {
  if (!/^[\x20-\x7e]{1,80}$/.test(value) || !/\d/.test(value) || !/[A-Za-z]/.test(value) || /^[A-Z][a-z]*\b|[.!?:,]$/.test(value))
    return false;
  return !/\b(?:passwords?|passwort|must|should|your|enter|least|characters?|invalid|required|please|is|the|and|or|of|to|for|with)\b/i.test(
    value,
  );
}

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
  const value = (quoted ?? groups["bare"] ?? "").replace(/\\+$/, "");
  if (isPlaceholder(value) || hasNonSecretSuffix(groups["rest"] ?? "") || /^={2,3}$/.test(separator.trim())) return false;
  if (isLocation(value)) return false;
  if (quoted !== undefined) {
    if (/\s/.test(value)) return isPhrase(value) && !isLabelName(name);
    if (/^pass$/i.test(name)) return value.length >= 4 && /^[\x21-\x7e]*\d[\x21-\x7e]*$/.test(value);
    if (isPassword(name)) return value.length >= 4 && /[\d\W_]/.test(value) && !/^[a-z]+(?:[-_.][a-z]+)+$/i.test(value);
    return looksGenerated(value) || (isKeyOrSecret(name) && value.length >= 6 && isMixed(value));
  }
  // Bare values: in code they are calls, member accesses and types; in configuration and shells they are the secret itself.
  if (groups["after"] !== "" || typeWords.test(value) || /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+!?$/.test(value)) return false;
  if (before === "." || before === "$" || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (/^[+/*=-]/.test(value)) return false;
  const tight = !/\s/.test(separator) || groups["lead"] === "--";
  const wholeLine = after === "" || after === "\n" || after === "\r";
  // Test runners write `pass: 12` and `pass: a1.test.ts`.
  if (/^pass$/i.test(name) && !separator.includes("=")) return false;
  if (isPassword(name)) return (tight && (value.length >= 6 || wholeLine)) || (wholeLine && !/^[A-Z][a-z]+\d*[A-Z]?[a-z]*\d*$/.test(value));
  if (isKeyOrSecret(name) && wholeLine && value.length >= 6 && isMixed(value) && !/^[A-Z][A-Za-z]*\d{1,4}[A-Za-z]*$/.test(value))
    return true;
  // A type name (`token: X509Token`) has its digits in one place only.
  return looksGenerated(value) && (tight || !/^[A-Z][A-Za-z]*\d{1,4}[A-Za-z]*$/.test(value));
}

/** `DB_PASSWORD=a&b;c`: the value of a variable in capitals goes on to the next blank. */
const environmentVariable = /(?<![\w$.{=?&-])(?<name>[A-Z][A-Z0-9_]{2,80})=(?<value>[^\s"'\x60=][^\s"'\x60]{3,500})(?=[\s"'\x60]|$)/g;

function redactEnvironment(text: string, found: (kind: string, secret: string) => string): string {
  return text.replace(environmentVariable, (match: string, name: string, value: string) => {
    const kind = secretKeyKind(name);
    if (kind === null || isPlaceholder(value) || isLocation(value) || typeWords.test(value) || isExpression(value)) return match;
    const isSecret =
      kind === "password" ? value.length >= 6 || /[\d\W_]/.test(value) : value.length >= 8 && /\d/.test(value) && /[A-Za-z]/.test(value);
    return isSecret ? `${name}=${found(kind, value)}` : match;
  });
}

/** True for calls and member accesses, which a script assigns. */
function isExpression(value: string): boolean {
  return /^[A-Za-z_$][\w$.]*[([]|^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+!?;?$|^[A-Za-z_$][\w$]*;$/.test(value);
}

/** Replaces values assigned to secret names with the result of `found`. */
export function redactAssignments(text: string, found: (kind: string, secret: string) => string): string {
  if (!anyName.test(text)) return text;
  return redactEnvironment(text, found).replace(assignment, (...args: unknown[]) => {
    const match = args[0] as string;
    const groups = args.at(-1) as Record<string, string | undefined>;
    const offset = args.at(-3) as number;
    const end = offset + match.length;
    if (!isSecretValue(groups, text.charAt(offset - 1), text.charAt(end))) return match;
    const value = (groups["double"] ?? groups["single"] ?? groups["back"] ?? groups["bare"] ?? "").replace(/\\+$/, "");
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
  // Also the name of a count of tests, and numbers are removed from passwords alone.
  if (name === "pass") return key.length === name.length ? "secret" : "password";
  return name === "authorization" || name === "cookie" ? name : secretKind(name.replace(/s$/, ""));
}
