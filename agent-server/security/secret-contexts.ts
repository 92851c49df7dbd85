import type { SecretFormat } from "./secret-formats.ts";
import { isWritten } from "./secret-prose.ts";
import { hasDigit, hasDigitAndLetter, isChosenPassword, isMixed, isPlaceholder, isScrambled, looksGenerated } from "./secret-values.ts";

/** Secrets that are recognizable by where they stand: in addresses, headers, cookies, elements and statements. */

/** True for the text of an element with a secret's name that is no label, type or sentence. */
function isElementText(secret: string): boolean {
  if (isPlaceholder(secret.trim()) || /^(?:string|required|optional|none|null|true|false)$/i.test(secret)) return false;
  return /\s/.test(secret.trim()) ? hasDigit(secret) && !/^[A-Z]|[.!?:]$/.test(secret.trim()) : !/^[A-Z][a-z]+$/.test(secret);
}

/** `user:password` in base64, as basic authentication and Docker's configuration write it. */
const isBase64UserAndPassword = (secret: string): boolean =>
  /^[\x21-\x7e][\x21-\x39\x3b-\x7e]*:[\x20-\x7e]+$/.test(Buffer.from(secret, "base64").toString("latin1"));

/** The base64 of a private key, as opposed to a certificate. */
const isBase64PrivateKey = (secret: string): boolean =>
  Buffer.from(secret.slice(0, 80), "base64").toString("latin1").includes("PRIVATE KEY");

const isReal = (secret: string): boolean => !isPlaceholder(secret);
const isToken = (secret: string): boolean => looksGenerated(secret) && !isPlaceholder(secret);
const isCode = (secret: string): boolean => hasDigitAndLetter(secret) && !isPlaceholder(secret);

export const secretContexts: readonly SecretFormat[] = [
  { kind: "password-hash", hints: ["$2"], pattern: /\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}/g },
  {
    kind: "password-hash",
    hints: ["$apr1$", "$1$", "$5$", "$6$", "$y$"],
    pattern: /\$(?:apr1|1|5|6|y)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9$]{1,40}\$[./A-Za-z0-9]{22,86}/g,
  },
  {
    kind: "password-hash",
    hints: ["$argon2"],
    pattern: /\$argon2id?\$v=\d{1,3}\$[mtp=,\d]{8,40}\$[A-Za-z0-9+/]{8,64}\$[A-Za-z0-9+/]{16,128}/g,
  },
  {
    kind: "url-password",
    hints: ["://"],
    // A password can contain the sign that ends it.
    pattern: /(?<=[A-Za-z][A-Za-z0-9+.-]{1,20}):\/\/[^\s:/?#@"'`<>]{0,100}:([^\s/?#"'`<>]{1,200})@[\w[]/g,
    group: 1,
    check: isReal,
  },
  {
    kind: "url-password",
    hints: ["://"],
    pattern: /https?:\/\/([A-Za-z0-9_-]{20,255})@[\w[]/g,
    group: 1,
    check: isToken,
  },
  {
    kind: "token",
    hints: ["=", "%3D"],
    pattern:
      /[?&#;](?:key|[a-z_-]{0,24}(?:auth|sig|signature|code|session)|appid|X-Amz-Signature|X-Goog-Signature|jwt|sid)=([A-Za-z0-9%+/_.~-]{16,2000}={0,2})/gi,
    group: 1,
    check: isToken,
  },
  {
    kind: "token",
    hints: [".alchemy.com/", ".infura.io/"],
    pattern: /\.(?:alchemy\.com|infura\.io)\/v\d\/([A-Za-z0-9_-]{20,64})/g,
    group: 1,
    check: isToken,
  },
  {
    kind: "basic-auth",
    hints: ["asic "],
    pattern: /[Bb]asic ["']?([A-Za-z0-9+/]{8,400}={0,2})(?![\w+/])/g,
    group: 1,
    check: isBase64UserAndPassword,
  },
  {
    kind: "basic-auth",
    hints: ["_auth", '"auth"'],
    pattern: /(?:_auth\s{0,2}=\s{0,2}|"auth"\s{0,4}:\s{0,4})"?([A-Za-z0-9+/]{8,400}={0,2})/g,
    group: 1,
    check: isBase64UserAndPassword,
  },
  {
    kind: "bearer-token",
    hints: ["earer ", "EARER "],
    pattern: /(?:[Bb]earer|BEARER) {1,2}["']?([A-Za-z0-9._~+/=-]{16,4000})/g,
    group: 1,
    check: (secret) => hasDigit(secret) && !isPlaceholder(secret),
  },
  {
    kind: "bearer-token",
    hints: ["uthorization", "UTHORIZATION"],
    pattern:
      /(?:uthorization|UTHORIZATION)\\{0,7}["']?\s{0,4}[:=]\s{0,4}\\{0,7}["'`]?(?:[A-Za-z][\w-]{2,20}[ =]{1,2})?(?:[\w-]{1,64}:)?["']?([A-Za-z0-9._~+/=:-]{6,4000})/g,
    group: 1,
    check: (secret) => isCode(secret) && (secret.length >= 20 ? looksGenerated(secret) : isMixed(secret) || isChosenPassword(secret)),
  },
  {
    kind: "bearer-token",
    hints: ["uthorization"],
    pattern: /uthorization["']?: {1,2}["']?(?:AWS4-HMAC|Digest|OAuth)[^\r\n]{1,600}?(?:ignature|response)="?([A-Za-z0-9%+/=]{20,400})/g,
    group: 1,
  },
  {
    kind: "bearer-token",
    hints: ["earer ", "Token ", "Key "],
    pattern: /(?<![A-Za-z])(?:[Bb]earer|Api-Token|ApiKey|GenieKey|Auth-Key) {1,2}([A-Za-z0-9_~+/-]{8,60}={0,2})(?![\w.~+/=-])/g,
    group: 1,
    check: (secret) => isMixed(secret) && !isPlaceholder(secret),
  },
  {
    kind: "cookie",
    hints: ["ookie"],
    pattern: /(?<![A-Za-z])[Ss]et-[Cc]ookie\\{0,7}["']?: {0,4}\\{0,7}["']?[^\s=;,"']{1,100}=([^\s;"'\\]{8,4000})/g,
    group: 1,
    check: (secret) => hasDigit(secret) && !isPlaceholder(secret),
  },
  {
    kind: "cookie",
    hints: ["ookie"],
    pattern:
      /(?<![A-Za-z-])[Cc]ookie\\{0,7}["']?: {0,4}\\{0,7}["']?([^\s=;,"'\\{}()]{1,100}=[^\s;"'\\]{1,4000}(?:; {0,2}[^\s=;"'\\]{1,100}=[^\s;"'\\]{0,4000}){0,60})/g,
    group: 1,
    check: (secret) => /=[^;]{8}/.test(secret) && hasDigit(secret) && !isPlaceholder(secret),
  },
  {
    kind: "cookie",
    hints: ["ookie", "essi", "SID"],
    pattern: /(?:session|sess|sid|SESSID|SESSIONID|auth|token)[\w.-]{0,12}=["']?([^\s;"'`\\&]{16,4000})/g,
    group: 1,
    check: isToken,
  },
  // A line of the file in which curl keeps cookies.
  {
    kind: "cookie",
    hints: ["\tTRUE\t", "\tFALSE\t"],
    pattern: /\t(?:TRUE|FALSE)\t\d{1,12}\t[^\t\r\n]{1,100}\t([^\t\r\n]{8,4000})/g,
    group: 1,
    check: hasDigit,
  },
  {
    kind: "private-key",
    hints: ["client-key-data"],
    pattern: /client-key-data\\{0,7}["']?: {0,4}\\{0,7}["']?([A-Za-z0-9+/]{16,20000}={0,2})/g,
    group: 1,
  },
  { kind: "private-key", hints: ["LS0tLS1CRUdJTi"], pattern: /LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,20000}={0,2}/g, check: isBase64PrivateKey },
  { kind: "private-key", hints: ['"kty"'], pattern: /(?<="kty"[^{}]{0,2000})"d"\s{0,2}:\s{0,2}"([A-Za-z0-9_-]{20,800})"/g, group: 1 },
  {
    kind: "private-key",
    hints: ["nseal Key"],
    pattern: /Unseal Key \d{1,2}: {1,4}([A-Za-z0-9+/]{40,80}={0,2})/g,
    group: 1,
  },
  {
    kind: "password",
    hints: ["</"],
    pattern:
      /<(?:[\w-]{1,40}[:.])?[\w-]{0,40}(?:pass(?:word|wd|phrase)|secret|token|api[-_]?key)(?: [^<>]{0,200})?>(?:<!\[CDATA\[)?([^<>]{4,500}?)(?:\]\]>)?<\//gi,
    group: 1,
    check: isElementText,
  },
  {
    kind: "password",
    hints: ["<key>"],
    pattern: /<key>[\w.-]{0,40}(?:pass(?:word|wd|phrase)?|secret|token|api[-_]?key)<\/key>\s{0,40}<string>([^<>]{4,500})<\//gi,
    group: 1,
    check: isElementText,
  },
  {
    kind: "password",
    hints: ["PASSWORD", "password", "IDENTIFIED", "identified"],
    pattern:
      /\b(?:(?:WITH(?: ENCRYPTED)?|ROLE \w{1,64}|USER \w{1,64}|LOGIN) PASSWORD|IDENTIFIED (?:WITH \S{1,64} )?BY(?: PASSWORD)?|= ?PASSWORD\() ?'([^'\r\n]{3,200})'/gi,
    group: 1,
    check: isReal,
  },
  {
    kind: "password",
    hints: ["SecureString"],
    pattern: /ConvertTo-SecureString (?:-String )?["']([^"'\r\n]{3,200})["']/g,
    group: 1,
    check: isReal,
  },
  {
    kind: "password",
    hints: ["getConnection("],
    pattern: /getConnection\([^()\r\n]{1,300}, ?"[^"\r\n]{1,100}", ?"([^"\r\n]{3,200})"\)/g,
    group: 1,
    check: isChosenPassword,
  },
  {
    kind: "password",
    hints: ['name="', 'name=\\"'],
    pattern: /form-data; name="[\w-]{0,40}(?:password|passwd|secret|token|key)"(?:\r?\n[^\r\n]{1,200}){0,4}\r?\n\r?\n([^\r\n]{3,500})/gi,
    group: 1,
    check: isReal,
  },
  {
    kind: "password",
    hints: ["machine "],
    pattern: /machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(\S{1,200})/g,
    group: 1,
    check: isReal,
  },
  // A line of .pgpass: host, port, database, user, password.
  {
    kind: "password",
    hints: [":5432:", ":*:", ":5433:"],
    pattern: /(?:^|\n)[\w.*-]{1,100}:(?:\d{2,5}|\*):[^\s:]{1,64}:[^\s:]{1,64}:([^\s:]{4,200})(?=\s|$)/g,
    group: 1,
    check: isReal,
  },
  { kind: "password", hints: ["jdbc:oracle"], pattern: /jdbc:oracle:\w{1,10}:[^\s/@]{1,64}\/([^\s/@]{3,200})@/g, group: 1, check: isReal },
  // `{ "github-oauth": { "github.com": "…" } }` in Composer's file, `BUNDLE_GEMS__EXAMPLE__COM: "user:…"` in Bundler's.
  {
    kind: "token",
    hints: ["-oauth", "http-basic"],
    pattern: /"[a-z]{3,12}-oauth"\s{0,4}:\s{0,4}\{\s{0,12}"[\w.-]{1,100}"\s{0,4}:\s{0,4}"([^"\r\n]{10,200})"/g,
    group: 1,
    check: isReal,
  },
  { kind: "token", hints: ["BUNDLE_"], pattern: /BUNDLE_[A-Z0-9_]{3,100}: ?"?(?:[\w.-]{1,64}:)([^\s":]{8,200})/g, group: 1, check: isCode },
  {
    kind: "api-key",
    hints: ["X-", "x-"],
    pattern: /(?<![\w-])x-[a-z][a-z-]{1,40}(?:key|token|auth|team|secret|signature)["']?: {0,4}["']?([A-Za-z0-9+/_.=-]{16,4000})/gi,
    group: 1,
    check: (secret) => isToken(secret) || isScrambled(secret),
  },
  // Community strings and passwords of network devices.
  {
    kind: "password",
    hints: ["snmp-server community "],
    pattern: /snmp-server community (\S{3,64})/g,
    group: 1,
    check: (secret) => !/^(?:public|private)$/.test(secret) && isReal(secret),
  },
  {
    kind: "password",
    hints: ["enable secret ", "enable password ", " secret "],
    pattern: /(?:enable|username \S{1,64}(?: privilege \d{1,2})?) (?:secret|password) (?:\d )?(\S{4,200})/g,
    group: 1,
    check: isCode,
  },
  // The passwords of a cloud-init file, and what is piped into chpasswd.
  {
    kind: "password",
    hints: ["chpasswd"],
    pattern: /(?<=chpasswd:[^\0]{0,200}\n\s{0,12}(?:- )?)[a-z_][\w-]{0,31}:(?!\s)(\S{4,200})/g,
    group: 1,
    check: isReal,
  },
  {
    kind: "password",
    hints: ["chpasswd"],
    pattern: /[a-z_][\w-]{0,31}:([^\s"':]{4,200})["']? \| {0,2}(?:sudo )?chpasswd/g,
    group: 1,
    check: isReal,
  },
  { kind: "token", hints: ["AQAAABAAAA"], pattern: /AQAAABAAAA[A-Za-z0-9+/]{30,400}={0,2}/g },
  {
    kind: "secret",
    hints: ["NEMONIC", "nemonic", "seed phrase"],
    pattern: /(?:(?:MNEMONIC|mnemonic)["']?\s{0,2}[=:]\s{0,2}|seed phrase(?: is|:) )["']?([a-z]{3,8}(?: [a-z]{3,8}){11,23})/g,
    group: 1,
  },
  // `credentials are admin / hunter2`, `login: admin/hunter2`
  {
    kind: "password",
    hints: ["redential", "ogin", "ugangsdaten", "dentifiants"],
    pattern:
      /(?:credentials|logins?|zugangsdaten|identifiants|credenciales|credenziali)(?: (?:are|is|sind|sont|son|sono|são))?:? {1,2}[\w.@-]{2,40} ?[/:] ?["']?([^\s"'`,;()<>/]{6,64})(?=[\s"'`,;)]|$)/gi,
    group: 1,
    check: isWritten,
  },
  // `your one-time code is 123456`
  {
    kind: "password",
    hints: ["code", "OTP", "PIN", "password"],
    pattern: /(?:one[- ]time (?:code|password)|verification code|security code|OTP|PIN)(?: code)?(?: is|:) {1,2}["']?(\d{4,8})(?!\d)/g,
    group: 1,
  },
  {
    kind: "password",
    hints: ["echo "],
    pattern: /echo ["']?([^\s"'$|]{4,100})["']? {0,2}\| {0,2}(?:sudo (?:-\w+ )*-S|passwd --stdin|docker login|cryptsetup)/g,
    group: 1,
    check: isReal,
  },
];
