import { trimEnd } from "../contract/trim-end.ts";
import { type FoundName, hasNonSecretSuffix, secretKeyKind, secretKind } from "./secret-names.ts";
import { lineBefore, type SecretSpan } from "./secret-spans.ts";
import {
  hasDigitAndLetter,
  isChosenPassword,
  isExpression,
  isLocation,
  isMemberAccess,
  isMixed,
  isPhrase,
  isPlaceholder,
  isScrambled,
  isVersion,
  isWordPhrase,
  looksGenerated,
  typeWords,
} from "./secret-values.ts";

/** Secrets without a recognizable format, found by the name they are assigned to: `password=`, `"apiKey": "…"`, `--token …`. */

/** What stands between a name and its value. */
const separators = [
  // `password: x`, `"password" => "x"`, `ENV["PASSWORD"] = "x"`, `**Password:** x`, and a value in the block that a sign of YAML opens.
  String.raw`\\{0,7}["'\x60]?\]?\s{0,4}(?:=>|:=|={1,3}|:)\*{0,2}\s{0,4}(?:[>|][+-]?[ \t]{0,4}\r?\n[ \t]{1,32})?`,
  // `String password = "x"` has its type before, `password: &str = "x"` and `password string = "x"` behind.
  String.raw`(?::\s{0,2}&?|\s)(?:str|[sS]tring)\s{0,2}=\s{0,2}(?=["'])`,
  // `"name": "PASSWORD", "value": "x"`, `- name: PASSWORD`, and an element's `name="password" value="x"`.
  String.raw`["']?,?\s{1,16}["']?[vV]alue["']?\s{0,2}[:=]\s{0,2}`,
  String.raw`["']\s{0,2}\{\s{0,16}default\s{0,4}=\s{0,2}(?=["'])`,
  // `--password x`, `-storepass x`
  String.raw`\s{1,2}(?<=(?<![\w-])--?[A-Za-z][\w.-]{1,80}\s{1,2})`,
  // `define('PASSWORD', 'x')`, `storePassword "x"`
  String.raw`["']\s{0,2},\s{0,2}(?=["'])`,
  String.raw`[ \t]{1,4}(?=["'])`,
];

/** What follows a name: the rest of the word, separator, and value (quoted with ", ' or `, or bare up to a delimiter). */
const assignment = new RegExp(
  String.raw`(?<rest>[A-Za-z0-9_-]{0,32})(?<sep>${separators.join("|")})` +
    String.raw`(?:"(?<double>(?:[^"\\\r\n]|\\[^\r\n]){1,500})"|'(?<single>(?:[^'\\\r\n]|\\[^\r\n]){1,500})'|\\{1,7}["'](?<escaped>[^"'\\\r\n]{1,500})\\{1,7}["']|\x60(?<back>[^\x60\r\n]{1,500})\x60|(?<bare>[^\s"'\x60,;&(){}\[\]<>|\\]{4,500})(?<after>[([.]?))`,
  "y",
);

const isPassword = (name: string): boolean => secretKind(name) === "password";
const isKeyOrSecret = (name: string): boolean => /key$|^secret$/i.test(name);

/** Names that also label an input or a result: `token: "keyword 2"`, `pass: "All 3 tests passed"`. */
const isLabelName = (name: string): boolean => /^(?:token|credentials?|pass)$/i.test(name);

interface Assigned {
  readonly name: string;
  readonly separator: string;
  readonly value: string;
  /** The text up to the name, and from the end of the value: one line of it is enough. */
  readonly before: string;
  readonly after: string;
}

/** True for separators that stand between other things than a name and its value too. */
const isLoose = (separator: string): boolean => /^\s+$|^["']\s*,/.test(separator);

function isQuotedSecret({ name, separator, value, before, after }: Assigned): boolean {
  if (isLoose(separator) || /^pw$/i.test(name))
    return !/\s/.test(value) && (isPassword(name) ? isChosenPassword(value) : looksGenerated(value));
  const isOnlyPair = /^[\s>*-]*(?:(?:export |set |\$)[\w.-]*|[\w.][\w.-]*)?["']?$/.test(before) && /^[\s,;]*$/.test(after);
  if (/\s/.test(value)) return (isPhrase(value) && !isLabelName(name)) || (isOnlyPair && isPassword(name) && isWordPhrase(value));
  if (isOnlyPair && (isWordSecret(name, value) || (isKeyOrSecret(name) && isChosenPassword(value)))) return true;
  // The shortest secret: `secret = 'x'`.
  if (isOnlyPair && /^(?:secret|password)$/i.test(name) && separator.includes("=") && /^[a-z0-9]{1,5}$/i.test(value)) return true;
  if (/^pass$/i.test(name)) return value.length >= 4 && /^[\x21-\x7e]+$/.test(value) && /\d/.test(value);
  if (isPassword(name)) return value.length >= 4 && /[\d\W_]/.test(value) && !/^[a-z]+(?:[-_.][a-z]+)+$/i.test(value);
  return looksGenerated(value) || isScrambled(value) || (isKeyOrSecret(name) && value.length >= 6 && isMixed(value));
}

/** Bare values: in code they are calls, member accesses and types; in configuration and shells they are the secret itself. */
function isBareSecret({ name, separator, value, before, after }: Assigned): boolean {
  const isFlag = /(?:^|[\s"'])--?[A-Za-z][\w.-]*$/.test(before) || (/--?$/.test(before) && !/\w--?$/.test(before));
  if (/^[([.]/.test(after) || typeWords.test(value) || (isMemberAccess(value) && !isFlag)) return false;
  const opened = /(?:^|(["'\x60]))[^"'\x60]{0,80}$/.exec(before);
  const wholeLine = /^\s*$/.test(after) || (opened?.[1] !== undefined && after.startsWith(opened[1]));
  const isOnlyPair = wholeLine && /(?:^|["'\x60])[\s>*-]*(?:[\w.][\w.-]*)?$/.test(before);
  const tight = !/\s/.test(separator) || isFlag;
  // `this.password = value1` is code, `db.password: value1` a property.
  if (/[.$]$/.test(before)) {
    const isProperty = isOnlyPair && (tight || separator.includes(":"));
    if (!isPassword(name) || !isChosenPassword(value) || !(isProperty || (tight && /^(?:\s|$)/.test(after)))) return false;
  }
  if (isPassword(name) && /^\d{4,40}$/.test(value) && !/^pass$/i.test(name) && /^(?:[\s,}&]|$)/.test(after)) return true;
  if (!hasDigitAndLetter(value)) return isOnlyPair && isWordSecret(name, value);
  if (/^[*=-]/.test(value) || (value.startsWith("/") && value.length < 30) || (value.startsWith("+") && !wholeLine)) return false;
  // Test runners write `pass: 12` and `pass: a1.test.ts`.
  if (/^pass$/i.test(name) && !separator.includes("=") && !isFlag && !(isOnlyPair && isChosenPassword(value) && !value.includes("/")))
    return false;
  if (isPassword(name)) {
    if (tight && (value.length >= 6 || wholeLine)) return true;
    if (wholeLine) return isChosenPassword(value) || !/^[A-Z][a-z]+(?:\d*[A-Z][a-z]*|\d+[a-z]+)?\d*$/.test(value);
    // `password: hunter2, user: bob`
    return isChosenPassword(value) && (/^,\s{0,2}["']?[\w-]{1,40}["']?\s?[:=]\s?\S/.test(after) || /^\s{0,4}#/.test(after));
  }
  if (isKeyOrSecret(name) && wholeLine && value.length >= 6 && isMixed(value) && !/^[A-Z][A-Za-z]*\d{1,4}[A-Za-z]*$/.test(value))
    return true;
  if (isKeyOrSecret(name) && isOnlyPair && isChosenPassword(value)) return true;
  // A type name (`token: X509Token`) has its digits in one place only.
  return looksGenerated(value) && (tight || !/^[A-Z][A-Za-z]*\d{1,4}[A-Za-z]*$/.test(value));
}

/** Words that stand after the name of a secret and are none. */
const ordinaryWord =
  /^(?:[a-z]*(?:pass|word|secret|token|key|user|name|string|type|value|text|field|input|valid|requir|option|default|config|change|example|missing|empty|hidden|encrypt|masked|generat|prompt|manual|disabl|enabl|support|automatic|credential|auth|login|comment|keyword|literal|operator|ident|punct|number)[a-z]*|include|omit|never|always|private|public|static|readonly|unique|simple|basic|bearer|plain|other|nullable|redact(?:ed)?|function|object|array|buffer|boolean|regexp|symbol|lexer|parser|state|start|end|undefined|unknown)$/i;

/** True for a word that is the whole value of a line: `password: excalibur`. */
function isWordSecret(name: string, value: string): boolean {
  if (!/^[a-z]{6,24}$/.test(value) || ordinaryWord.test(value)) return false;
  return /^token$/i.test(name) || isPassword(name) || isKeyOrSecret(name);
}

/** `Server=db;User Id=sa;Password=`: in such a text a value ends at a semicolon, whatever it contains. */
const inConnectionString =
  /(?:server|data source|host|hostname|address|addr|driver|uid|user(?: ?id)?|database|initial catalog)\s{0,2}=[^;\r\n"']{1,200};[^\r\n"']{0,300}$/i;

function judge(assigned: Assigned, rest: string, isQuoted: boolean): boolean {
  const { value, separator } = assigned;
  if ((isPlaceholder(value) && !(isQuoted && /^[a-z]$/.test(value))) || hasNonSecretSuffix(rest) || isLocation(value)) return false;
  // A comparison with a text is one with the secret, unless the text is a word.
  if (/^={2,3}$/.test(separator.trim()) && !(isQuoted && isChosenPassword(value))) return false;
  if (isVersion(value) || (isLoose(separator) && rest !== "")) return false;
  return isQuoted ? isQuotedSecret(assigned) : isBareSecret(assigned);
}

/**
 * `DB_PASSWORD=a&b;c`: the value of a variable in capitals goes on to the next blank, or to the end of its quotes. Also `KEY: "…"` and
 * `define('KEY', '…')`.
 */
const environmentVariable =
  /(?<![\w$.{=?&-])(?<name>[A-Z][A-Z0-9_]{2,80})(?:=(?<value>[^\s"'\x60=](?:[^\s"'\x60\\]|\\(?![nrt"'])){3,500})(?=[\s"'\x60\\]|$)|["']?(?:\s{0,2}[:=]\s{0,2}|, ?)(?:"(?<double>[^"\\\r\n]{4,500})"|'(?<single>[^'\\\r\n]{4,500})')|:[ \t]{1,2}(?<plain>[^\s"'\x60,{}[\]<>]{4,500})(?=\s*(?:$|[\r\n])))/g;

/** Further names of variables with secrets, which are too common elsewhere. */
const environmentName =
  /(?:^|_)(?:KEY|PAT|AUTH|SESSION|SALT|SIGNATURE|MASTER|CREDENTIALS?|SECRETS?|CERT|DSN|LOGIN|APIKEY_PRIVATE|KEY_SECRET)$/;

function isEnvironmentSecret(name: string, value: string): boolean {
  if (isPlaceholder(value) || isLocation(value) || typeWords.test(value) || isExpression(value)) return false;
  if (/(?:^|_)PIN$/.test(name)) return /^\d{4,8}$/.test(value);
  const kind = secretKeyKind(name);
  if (kind === "password" || /(?:^|_)MASTER$/.test(name)) return value.length >= 6 || /[\d\W_]/.test(value);
  if (kind !== null) return (value.length >= 8 && hasDigitAndLetter(value)) || isChosenPassword(value) || isScrambled(value);
  return environmentName.test(name) && (looksGenerated(value) || isScrambled(value));
}

function findEnvironment(text: string, into: SecretSpan[]): void {
  for (const match of text.matchAll(environmentVariable)) {
    const { name = "", value: bare, double, single, plain } = match.groups ?? {};
    const value = bare ?? double ?? single ?? plain ?? "";
    if (/\s/.test(value) || !isEnvironmentSecret(name, value)) continue;
    const start = match.index + match[0].lastIndexOf(value);
    into.push({ start, end: start + value.length, kind: secretKeyKind(name) ?? "secret" });
  }
}

/** Finds values that are assigned to the names of secrets. */
export function findAssignments(text: string, names: readonly FoundName[], into: SecretSpan[]): void {
  findEnvironment(text, into);
  for (const { name, at } of names) {
    assignment.lastIndex = at + name.length;
    const match = assignment.exec(text);
    if (match === null) continue;
    const { rest = "", sep = "", double, single, escaped, back, bare } = match.groups ?? {};
    const raw = double ?? single ?? escaped ?? back ?? bare ?? "";
    const isQuoted = bare === undefined;
    const value = trimEnd(raw, "\\");
    const start = match.index + match[0].lastIndexOf(raw);
    const before = lineBefore(text, at);
    const kind = secretKind(name);
    if (!isQuoted && isPassword(name) && sep.includes("=") && before.includes(";") && inConnectionString.test(before)) {
      const whole = /^[^;"'\r\n\\]{3,200}/.exec(text.slice(start, start + 200))?.[0] ?? "";
      if (!isPlaceholder(whole)) into.push({ start, end: start + whole.length, kind });
      continue;
    }
    const valueEnd = isQuoted ? match.index + match[0].length : start + value.length;
    const after = text.slice(valueEnd, valueEnd + 120).split("\n", 1)[0] ?? "";
    if (judge({ name, separator: sep, value, before, after }, rest, isQuoted)) into.push({ start, end: start + value.length, kind });
  }
}
