import { isPlaceholder } from "../secret-values.ts";
import { secretKeyKind } from "../secret-names.ts";
import { distinctiveWindows } from "./fragment-strength.ts";

/** Least length of a value under the name of a secret, and of any other value. */
const leastNamed = 4;
const leastLength = 6;
/** Values of words alone are learned from this length on, unless their name is that of a secret. */
const leastWords = 16;
/** Numbers with fewer digits are ports, sizes, versions and dates. */
const leastDigits = 8;

/** Values that settings files share and that ordinary output is full of. */
const ordinaryValues = new Set(
  (
    "true false yes no on off null none nil undefined default defaults enabled disabled enable disable auto always never optional required " +
    "development production staging testing test local localhost preview sandbox debug release info warn warning error trace verbose silent " +
    "admin root user users guest postgres postgresql mysql mariadb sqlite redis mongodb rabbitmq kafka docker database public private main " +
    "master latest stable utf-8 utf8 ascii en-us en-gb de-de gzip plain json yaml https http smtp imap bearer basic basic-auth password " +
    "application/json application/octet-stream text/plain text/html 127.0.0.1 0.0.0.0 ::1 host.docker.internal hs256 rs256 sha256 sha512"
  ).split(" "),
);

const template = /^(?:\$\{?[A-Za-z_][\w.]*(?::?[-?+][^}]*)?\}?|%[A-Z_]+%|\{\{.*\}\}|\$\{\{.*\}\}|\$\(.*\))$/s;
/** Letters in words, with a few digits at the end of a word: `eu-central-1`, `camelot-shop`, `Europe/Berlin`. */
const words =
  /^[\s"'([{]*(?:[A-Za-z]+\d{0,4}|\d{1,4})(?:[-_. :/@,+*](?:[A-Za-z]+\d{0,4}|\d{1,4})?)*(?:[^\S ][\s"')\]}]*|["')\]}][\s"')\]}]*)?$/;
const path = /^(?:[A-Za-z]:[\\/]|~|\.{0,2}\/|\.\\)/;
const localAddress =
  /^[a-z][a-z0-9+.-]{1,20}:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|host\.docker\.internal)(?::\d+)?(?:\/[\w./-]*)?$/i;
/** The address of a public service, without a user or parameters. */
const publicAddress = /^(?:https?|wss?):\/\/[\w.-]{1,200}\.(?:com|org|net|io|dev|ai|app|co|cloud|eu|de)(?:\/[\w.~/-]{0,200})?$/i;

/**
 * True for the values of a secret file that are no secret and occur in ordinary output: switches, numbers, names of environments and
 * regions, local addresses, paths, templates and examples.
 * @param key the name of the value in its file, if it has one
 */
export function isTrivialValue(value: string, key: string | null): boolean {
  const bare = value.trim();
  const isNamed = key !== null && secretKeyKind(key) !== null;
  if (bare.length < (isNamed ? leastNamed : leastLength)) return true;
  if (ordinaryValues.has(bare.toLowerCase()) || template.test(bare)) return true;
  // A generated value may begin like an example.
  if (isPlaceholder(bare) && isWithoutDistinctive(bare) && /^(?:[\w. -]+|<[\w. -]+>|\[[\w. -]+\]|([*.])\1+)$/.test(bare)) return true;
  // Would be found inside of what replaces secrets.
  if (/^[a-z]+(?:-[a-z]+)?$/.test(bare) && bare.length < leastWords && "redacted hidden private-key api-key token secret".includes(bare))
    return true;
  if (isNamed) return false;
  const digits = bare.replace(/\D/g, "").length;
  if (/^[\d\s.,:/*TZ+-]*$/.test(bare)) return digits < leastDigits || /^\d{1,3}(?:\.\d{1,3}){2,3}|^\d{4}-\d\d-\d\d/.test(bare);
  if (words.test(bare) && bare.length < leastWords) return true;
  if (localAddress.test(bare)) return true;
  const isLocation = publicAddress.test(bare) || (path.test(bare) && !/\s/.test(bare));
  return isLocation && isWithoutDistinctive(bare);
}

function isWithoutDistinctive(value: string): boolean {
  return (distinctiveWindows(value, 8)[0] ?? value.length) === value.length;
}
