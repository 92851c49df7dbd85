import { looksHidden } from "./placeholders/placeholder-format.ts";

/** What tells a secret from other values that stand in the same place: code, types, labels, paths, examples. */

export const hasDigit = (value: string): boolean => /\d/.test(value);
export const hasDigitAndLetter = (value: string): boolean => /\d/.test(value) && /[A-Za-z]/.test(value);

/** True for a short value in which letters and digits change at least twice, unlike `token2` or `sha256`. */
export function isMixed(value: string): boolean {
  return (value.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0) >= 2;
}

const exampleWords =
  /^(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|user(?:name)?|example|sample|changeme|change-me|placeholder|redacted|hidden|none|null|undefined|true|false|todo|tbd|test|dummy|foo|bar|string|number|boolean|unknown)$/i;

/** True for values that are not real secrets: templates, variables, example words, repeated characters, redacted values. */
export function isPlaceholder(value: string): boolean {
  return (
    value.length === 0 ||
    looksHidden(value) ||
    exampleWords.test(value) ||
    /^(.)\1*$/s.test(value) ||
    /\$[{(A-Za-z_]|\{\{|%[sdv]$|%[A-Z_]{2,}%|\[redacted|HIDDEN_/.test(value) ||
    /^(?:<|\[|\{|\$|\*{3}|\.{3}|x{3}|your[-_ ]|my[-_]|enter[-_ ]|insert[-_ ]|replace[-_ ]|example[-_.])/i.test(value)
  );
}

export const typeWords =
  /^(?:string|number|boolean|bool|int\d*|str|bytes|object|any|unknown|never|void|null|none|nil|undefined|true|false|optional|required|secretstr|uint8array|buffer)\b/i;

/** True for a path or URL, which is the location of a secret, and for an upper-case name, which is the variable that contains it. */
export function isLocation(value: string): boolean {
  return (
    (/^(?:\.{0,2}\/|~\/|[A-Za-z]:\\|https?:|file:|urn:)/.test(value) && !/^\/[A-Za-z0-9+/]{38,}={0,2}$/.test(value)) ||
    /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(value)
  );
}

/** True for calls and member accesses, which a script assigns. */
export function isExpression(value: string): boolean {
  return /^[A-Za-z_$][\w$.]*[([]|^[A-Za-z_$][\w$]*;$/.test(value) || isMemberAccess(value);
}

/** True for a quoted value of several words that no user interface would show: lower case, with a digit, and no sentence. */
export function isPhrase(value: string): boolean {
  if (!/^[\x20-\x7e]{1,80}$/.test(value) || !/\d/.test(value) || !/[A-Za-z]/.test(value) || /^[A-Z][a-z]*\b|[.!?:,]$/.test(value))
    return false;
  return !/\b(?:passwords?|passwort|must|should|your|enter|least|characters?|invalid|required|please|is|the|and|or|of|to|for|with)\b/i.test(
    value,
  );
}

/** True for three or more words in small letters that are no sentence: `correct horse battery staple`. */
export function isWordPhrase(value: string): boolean {
  if (!/^[a-z]{1,16}(?: [a-z]{1,16}){2,11}$/.test(value)) return false;
  return !/\b(?:passwords?|passphrases?|secrets?|keys?|tokens?|must|should|can|your|you|enter|new|old|current|confirm|forgot|change|choose|least|characters?|invalid|required?|please|is|are|was|be|not|no|the|an|and|or|of|to|for|with|in|on|at|by|from|this|that|if|it|as|used|use|when|before|after|only|optional)\b/.test(
    value,
  );
}

/** True for a mix of letters and digits that is typical of generated values, unlike `word-2` or `sha256`. */
export function looksGenerated(value: string): boolean {
  if (value.length < 12 || !hasDigitAndLetter(value)) return false;
  if (/^[A-Za-z]+(?:[-_./: ][A-Za-z]+)*[-_./: ]?(?:v?\d{1,4})?$/.test(value)) return false;
  const distinct = new Set(value).size;
  return distinct >= Math.min(10, value.length / 2);
}

/** True for letters that form no word: their case changes everywhere (`qfgLQPQjpUoGRskB`), or they are too many. */
export function isScrambled(value: string): boolean {
  if (/^[a-z]{24,}$/.test(value)) return new Set(value).size >= 10;
  return /^[A-Za-z]{14,}$/.test(value) && (value.match(/[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])/g)?.length ?? 0) >= value.length / 4;
}

export const isVersion = (value: string): boolean => /^[\^~<>=v]*\d+(?:\.\d+)+/.test(value);

/** Names of algorithms, types and formats: a known word, a number, and perhaps more (`X509Token`, `Utf8`, `sha256`, `base64url`). */
const technicalName =
  /^(?:sha|md|base|utf|u?int|float|bigu?int|x|rsa|aes|des|rc|crc|ipv|https?|o?auth|es|hs|rs|ps|ed|ecdsa|curve|blake|keccak|ripemd|argon|pbkdf|pkcs|rfc|iso|web|socks|tls|ssl|s|ec|ntlmv|fido|u|windows|latin|cp|python|java|node|level|version|phase|step|option|type|part|group|item|line|page|case|win|arm|amd|vec|mat|str|num|arg|param|var|tmp|func?|obj|opt|el|val|res|req|err|ctx|cfg|conf|id|idx|i|n|p|t|v|h|a|b|c)[_-]?\d{1,5}(?:[_-]?[A-Za-z]+\d?)?$/i;

/** True for a member access (`config.password1`), unless a part of it is a long generated value. */
export function isMemberAccess(value: string): boolean {
  return /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+!?;?$/.test(value) && !/[A-Za-z0-9_]{20,}/.test(value.replace(/[A-Za-z]{20,}/g, ""));
}

/** True for a value as people choose passwords: letters and a number, with a sign or without. Types, variables and algorithms are none. */
export function isChosenPassword(value: string): boolean {
  if (value.length < 6 || !hasDigitAndLetter(value)) return false;
  if (/^[A-Za-z]+(?:[-_.][A-Za-z]+)+[-_.]?\d{1,2}$/.test(value)) return false;
  if (/^[\w.-]*(?:pass|pw|hash|key|token|user|name|value|secret|text|test|arg|param|field|input)\w*$/i.test(value)) return false;
  return !technicalName.test(value) && !isVersion(value) && !/^[A-Z0-9]+(?:[-_][A-Z0-9]+)+$/.test(value);
}
