/**
 * The letters that follow a letter in 95 % of the letter pairs of English and of code; the first letter of each group is the one they
 * follow. Counted over the distinct words of this repository's sources, its documentation and the typings of its dependencies.
 */
const commonPairs =
  "abcdgiklmnprstuvy baeilorsu cacehiklortu dadeilorsu eabcdefgilmnpqrstvwx faefilou gaehinorsu haeiort iabcdefglmnoprstvz keis " +
  "ladeilostuy mabeimops nacdefgiknostuv oabcdfgiklmnoprstuvw paehiloprstu qu racdegikmnorstuvy sacehikopstuy tacehilorstuy " +
  "uabcdeilmnprst vaei waehinor xpt yp ze";

const isCommonPair = new Uint8Array(26 * 26);
for (const group of commonPairs.split(" "))
  for (const next of group.slice(1)) isCommonPair[(group.charCodeAt(0) - 97) * 26 + next.charCodeAt(0) - 97] = 1;

/** Least surprise of a fragment that is searched for without the rest of its value. */
const leastSurprise = 3;

function classOf(code: number): "digit" | "lower" | "upper" | "other" {
  if (code >= 48 && code <= 57) return "digit";
  if (code >= 97 && code <= 122) return "lower";
  return code >= 65 && code <= 90 ? "upper" : "other";
}

/** How unlike words and code a pair of neighbors is: 0 for `th`, 1 for `xq`, `a7` or `7a`. */
function surpriseOf(first: number, second: number): number {
  const [one, other] = [classOf(first), classOf(second)];
  // Alphabets, rows of digits and repetitions are in tables, tests and paddings.
  if (second - first === 1) return 0;
  if (second === first) return 0.3;
  if (one === "other" || other === "other") return isJoint(first) || isJoint(second) ? 0 : 0.8;
  if (one === "digit") return other === "digit" ? 0.3 : 1;
  if (other === "digit") return 1;
  const uncommon = isCommonPair[((first | 32) - 97) * 26 + (second | 32) - 97] === 1 ? 0 : 1;
  // camelCase starts a word with an upper-case letter, so the pair itself says little.
  return one === "lower" && other === "upper" ? 0.6 : uncommon;
}

/** Signs that join words in names, paths and addresses. */
function isJoint(code: number): boolean {
  return " -_./:=,+@\"'()".includes(String.fromCharCode(code));
}

/**
 * For each position, the first position at or after it where a window of `size` characters starts that occurs in no ordinary text; the
 * text's length where none follows.
 */
export function distinctiveWindows(text: string, size: number): Uint32Array {
  const next = new Uint32Array(text.length + 1).fill(text.length);
  const surprise = Array.from({ length: Math.max(0, text.length - 1) }, (_, at) =>
    surpriseOf(text.charCodeAt(at), text.charCodeAt(at + 1)),
  );
  for (let from = text.length - 1; from >= 0; from -= 1) {
    next[from] = next[from + 1] ?? text.length;
    if (from + size <= text.length && isDistinctive(text.slice(from, from + size), surprise.slice(from, from + size - 1)))
      next[from] = from;
  }
  return next;
}

function isDistinctive(window: string, surprise: readonly number[]): boolean {
  if (constants.some((constant) => constant.includes(window))) return false;
  const total = surprise.reduce((sum, one) => sum + one, 0);
  return total >= leastSurprise && new Set(window).size >= 5 && !/^\d+$/.test(window);
}

/** Encoded parts that many keys and certificates have in common: headers of RSA and OpenSSH keys, algorithms, the header of a JWT. */
const constants = [
  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ",
  "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQ",
  "MIIJQwIBADANBgkqhkiG9w0BAQEFAASCCS0wggkpAgEAAoICAQ",
  "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg",
  "MIIEowIBAAKCAQEA",
  "MIIEpAIBAAKCAQEA",
  "MC4CAQAwBQYDK2VwBCIEI",
  "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAA",
  "AAAAB3NzaC1yc2EAAAADAQABAAAB",
  "AAAAC3NzaC1lZDI1NTE5AAAAI",
  "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
  "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9",
];
