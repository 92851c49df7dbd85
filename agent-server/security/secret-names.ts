/** Names of secrets: `password`, `apiKey`, `DB_PASS`, `client_secret`. */

/** The characters before `pass` where it follows no underscore or dash. */
const services = "db|pg|my|sql|smtp|ftp|imap|ldap|mail|user|root|admin|redis|mongo|rabbit|ssh|key|proxy|http|auth|login|require|store|bind";
const translated =
  "passwort|kennwort|contrase(?:ñ|n|n\u0303)a|mot[ _-]?de[ _-]?passe|senha|parola[ _-]?d'ordine|palavra-passe|(?<![a-z])clave(?![a-z])";
const password = String.raw`pass(?:word|wd|phrase)|passcode|pwd|(?<![a-z])pw(?![a-z])|(?:(?<![a-z])|(?<=(?:${services})))pass(?![a-z])|${translated}`;
const key = String.raw`(?:api|access|account|private|signing|encryption|master|shared|auth|service|secret|storage|subscription|license|pre-?shared|application|app|admin|deploy(?:er)?|webhook)[_ -]?key`;
export const nameSource = `${password}|${key}|secret|token|credentials?|masterauth|(?<![a-z])psk(?![a-z])`;

export const anyName = new RegExp(nameSource, "gi");

/** The name of a secret in a text, which may be a part of a longer word. */
export interface FoundName {
  readonly name: string;
  readonly at: number;
}

export function findNames(text: string): FoundName[] {
  return Array.from(text.matchAll(anyName), ({ 0: name, index }) => ({ name, at: index }));
}

/** Suffixes that make a name refer to something other than the secret: `tokenCount`, `password_file`, `secretName`. */
const nonSecretSuffixes = new Set(
  (
    "s count counts limit length len size type types name names id ids ident identifier url uri endpoint path file files dir field label text title " +
    "message placeholder input index offset position start end expiry expire expires expiration expired ttl age at regex pattern policy rule rules hint ref " +
    "arn env var budget usage used per kind mode format store manager provider service class color scope scopes icon error errors required visible " +
    "enabled valid reset strength header headers prefix suffix ed ing word words izer ized ize ization"
  ).split(" "),
);

export function hasNonSecretSuffix(rest: string): boolean {
  const words = rest.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
  return [words[0], words.at(-1)].some((word) => word !== undefined && nonSecretSuffixes.has(word.toLowerCase()));
}

export function secretKind(name: string): string {
  const lower = name.toLowerCase();
  if (/^(?:pass|pwd|pw$|kenn|contra|mot|senha|parola|palavra|clave|psk|master)/.test(lower) && !lower.endsWith("key")) return "password";
  if (lower.endsWith("key")) return "api-key";
  return lower.startsWith("credential") ? "credential" : lower;
}

const secretKey = new RegExp(`(?:${nameSource}|authorization|cookie|secrets|passwords)$`, "i");

/** The kind of secret that a JSON key or header name denotes, or null. */
export function secretKeyKind(key: string): string | null {
  if (key.length > 100) return null;
  const found = secretKey.exec(key.replace(/(?<![^A-Za-z0-9])[^A-Za-z0-9]+$/, ""));
  if (found === null) return null;
  const name = found[0].toLowerCase();
  // Also the name of a count of tests, and numbers are removed from passwords alone.
  if (name === "pass") return key.length === name.length ? "secret" : "password";
  return name === "authorization" || name === "cookie" ? name : secretKind(name.replace(/s$/, ""));
}
