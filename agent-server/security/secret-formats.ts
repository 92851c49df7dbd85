import { looksHidden } from "./placeholders/placeholder-format.ts";

/**
 * Secrets that are recognizable by their format. Every pattern runs in linear time: a prefix is followed by one run of a character class
 * that cannot restart inside itself, or by a bounded run.
 */
export interface SecretFormat {
  readonly kind: string;
  /** Literals of which a matching text contains at least one; a fast check before the pattern. */
  readonly hints: readonly string[];
  readonly pattern: RegExp;
  /** The capture group with the secret; the whole match by default. */
  readonly group?: number;
  readonly check?: (secret: string) => boolean;
}

/**
 * A token starts where no word runs on (a dash or an underscore may stand before it: `old-ghp_….txt` is a file name), or right
 * after an escape that only looks like a letter (`\n`, `%3D`, a colour code).
 */
const start = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u00[0-9A-Fa-f]{2}|\u001b\[[0-9;]{1,8}m))`;

function prefixed(kind: string, hints: readonly string[], body: string, check?: (secret: string) => boolean): SecretFormat {
  const format = { kind, hints, pattern: new RegExp(start + body, "g") };
  return check === undefined ? format : { ...format, check };
}

const hasDigit = (secret: string): boolean => /\d/.test(secret);

/** True for a short value in which letters and digits change at least twice, unlike `token2` or `sha256`. */
export function isMixed(secret: string): boolean {
  return (secret.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0) >= 2;
}

/** True for the text of an element with a secret's name that is no label, type or sentence. */
function isElementText(secret: string): boolean {
  if (isPlaceholder(secret.trim()) || /^(?:string|required|optional|none|null|true|false)$/i.test(secret)) return false;
  return /\s/.test(secret.trim()) ? hasDigit(secret) && !/^[A-Z]|[.!?:]$/.test(secret.trim()) : !/^[A-Z][a-z]+$/.test(secret);
}

/** The first part of a Discord bot token is its numeric user id in base64. */
const startsWithBase64Digits = (secret: string): boolean =>
  /^\d{16,20}$/.test(Buffer.from(secret.slice(0, secret.indexOf(".")), "base64url").toString("latin1"));

/** `user:password` in base64, as basic authentication and Docker's configuration write it. */
const isBase64UserAndPassword = (secret: string): boolean =>
  /^[\x21-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(secret, "base64").toString("latin1"));

export const secretFormats: readonly SecretFormat[] = [
  {
    kind: "private-key",
    hints: ["PRIVATE KEY"],
    pattern:
      /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\[nr]){0,8}(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset)[^\r\n\\]{0,200}){0,6}[A-Za-z0-9+/=\s\\"',]{48,}(?:-----END[A-Z0-9 ]{0,60}-----)?/g,
  },
  {
    kind: "private-key",
    hints: ["PRIVATE KEY"],
    // A shorter key, which only its end tells from a text about keys.
    pattern: /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s"',]|\\{1,4}[nr]){8,300}-----END[A-Z0-9 ]{0,60}-----/g,
  },
  { kind: "private-key", hints: ["Private-Lines:"], pattern: /Private-Lines: \d{1,4}\s{1,4}([A-Za-z0-9+/=\s]{48,})/g, group: 1 },
  prefixed("private-key", ["AGE-SECRET-KEY-"], "AGE-SECRET-KEY-1[0-9A-Z]{50,70}"),
  prefixed("aws-access-key", ["AKIA", "ASIA", "ABIA", "ACCA"], String.raw`(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?!\w)`),
  prefixed("github-token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], "gh[pousr]_[A-Za-z0-9]{36,255}"),
  prefixed("github-token", ["github_pat_"], "github_pat_[A-Za-z0-9_]{40,255}"),
  prefixed(
    "gitlab-token",
    ["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"],
    "gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_.-]{20,300}",
    hasDigit,
  ),
  prefixed("slack-token", ["xox"], "xox[abceoprs]-[A-Za-z0-9-]{10,300}", hasDigit),
  prefixed("slack-token", ["xapp-"], String.raw`xapp-\d-[A-Za-z0-9-]{20,300}`),
  {
    kind: "slack-webhook",
    hints: ["hooks.slack.com/"],
    pattern: /hooks\.slack\.com\/(?:services|workflows|triggers)\/([A-Za-z0-9/_+-]{20,200})/g,
    group: 1,
  },
  prefixed("stripe-key", ["sk_live_", "sk_test_", "rk_live_", "rk_test_"], "[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
  prefixed("stripe-key", ["whsec_"], "whsec_[A-Za-z0-9+/=]{24,120}"),
  prefixed("anthropic-key", ["sk-ant-"], "sk-ant-[A-Za-z0-9_-]{20,300}", hasDigit),
  prefixed(
    "openai-key",
    ["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"],
    "sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,300}",
    hasDigit,
  ),
  prefixed("openrouter-key", ["sk-or-"], "sk-or-v1-[a-f0-9]{32,80}"),
  prefixed("openai-key", ["sk-"], "sk-[A-Za-z0-9]{32,120}", hasDigit),
  prefixed("google-key", ["AIza"], "AIza[A-Za-z0-9_-]{35}"),
  prefixed("google-key", ["AQ.Ab"], String.raw`AQ\.Ab[A-Za-z0-9_-]{30,200}`),
  prefixed("google-oauth", ["GOCSPX-"], "GOCSPX-[A-Za-z0-9_-]{20,60}"),
  prefixed("google-oauth", ["ya29."], String.raw`ya29\.[A-Za-z0-9_-]{20,1000}`),
  prefixed("google-oauth", ["1//0"], "1//0[A-Za-z0-9_-]{30,300}"),
  prefixed("xai-key", ["xai-"], "xai-[A-Za-z0-9]{40,200}"),
  prefixed("groq-key", ["gsk_"], "gsk_[A-Za-z0-9]{40,100}"),
  prefixed("perplexity-key", ["pplx-"], "pplx-[A-Za-z0-9]{40,100}"),
  prefixed("huggingface-token", ["hf_"], "hf_[A-Za-z0-9]{30,60}", hasDigit),
  prefixed("replicate-token", ["r8_"], "r8_[A-Za-z0-9]{37,45}"),
  prefixed("npm-token", ["npm_"], "npm_[A-Za-z0-9]{36}"),
  prefixed("pypi-token", ["pypi-AgE"], "pypi-AgE[A-Za-z0-9_-]{40,1000}"),
  prefixed("rubygems-key", ["rubygems_"], "rubygems_[a-f0-9]{48}"),
  prefixed("docker-token", ["dckr_pat_", "dckr_oat_"], "dckr_[po]at_[A-Za-z0-9_-]{20,80}"),
  prefixed("jwt", ["eyJ"], String.raw`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`),
  {
    kind: "azure-key",
    hints: ["AccountKey=", "SharedAccessKey="],
    pattern: /(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,100}={0,2})/g,
    group: 1,
  },
  { kind: "azure-sas", hints: ["sig="], pattern: /[?&;]sig=([A-Za-z0-9%+/_-]{40,120}={0,2})/g, group: 1 },
  {
    kind: "azure-secret",
    hints: ["Q~"],
    // At most three characters precede the hint, so each hint is checked once.
    pattern: /(?<![\w~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![\w~-])/g,
  },
  prefixed("sendgrid-key", ["SG."], String.raw`SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}`),
  prefixed("twilio-key", ["SK"], String.raw`SK[0-9a-f]{32}(?!\w)`),
  prefixed("mailgun-key", ["key-"], String.raw`key-[0-9a-f]{32}(?!\w)`),
  { kind: "mailchimp-key", hints: ["-us"], pattern: /(?<!\w)[0-9a-f]{32}-us\d{1,2}(?!\w)/g },
  { kind: "telegram-token", hints: [":AA"], pattern: /(?<![\w])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])/g },
  {
    kind: "discord-token",
    hints: ["."],
    pattern: /(?<![\w-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}(?![\w-])/g,
    check: startsWithBase64Digits,
  },
  {
    kind: "discord-webhook",
    hints: ["/api/webhooks/"],
    pattern: /discord(?:app)?\.com\/api\/webhooks\/\d{10,25}\/([A-Za-z0-9_-]{40,100})/g,
    group: 1,
  },
  prefixed("discord-token", ["mfa."], String.raw`mfa\.[A-Za-z0-9_-]{80,95}(?![\w-])`, hasDigit),
  prefixed("digitalocean-token", ["dop_v1_", "doo_v1_", "dor_v1_"], "do[opr]_v1_[a-f0-9]{64}"),
  prefixed("shopify-token", ["shpat_", "shpca_", "shppa_", "shpss_"], "shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
  prefixed("square-token", ["sq0"], "sq0(?:atp|csp|idp|idb)-[A-Za-z0-9_-]{22,50}"),
  prefixed("square-token", ["EAAA"], String.raw`EAAA[A-Za-z0-9_-]{56,64}(?![\w-])`, hasDigit),
  prefixed("heroku-key", ["HRKU-"], "HRKU-[A-Za-z0-9_-]{30,80}", hasDigit),
  prefixed("fly-token", ["fo1_"], String.raw`fo1_[A-Za-z0-9_-]{40,60}(?![\w-])`, hasDigit),
  prefixed("fly-token", ["fm1", "fm2_"], "fm(?:1[ar]?|2)_[A-Za-z0-9+/=_-]{40,4000}", hasDigit),
  prefixed("cargo-token", ["cio"], String.raw`cio[A-Za-z0-9]{32}(?![\w-])`, hasDigit),
  prefixed("nuget-key", ["oy2"], String.raw`oy2[a-z0-9]{43}(?![\w-])`),
  prefixed("databricks-token", ["dapi"], String.raw`dapi[a-f0-9]{32}(?:-\d)?(?!\w)`),
  prefixed("vault-token", ["hvs.", "hvb."], String.raw`hv[sb]\.[A-Za-z0-9_-]{24,300}`, hasDigit),
  { kind: "terraform-token", hints: [".atlasv1."], pattern: /(?<!\w)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,100}/g },
  prefixed("linear-key", ["lin_api_"], "lin_api_[A-Za-z0-9]{32,60}"),
  prefixed("notion-token", ["ntn_"], "ntn_[A-Za-z0-9]{40,60}"),
  prefixed("notion-token", ["secret_"], "secret_[A-Za-z0-9]{43}", hasDigit),
  prefixed("figma-token", ["figd_"], "figd_[A-Za-z0-9_-]{30,80}"),
  prefixed("postman-key", ["PMAK-"], "PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
  prefixed("newrelic-key", ["NRAK-"], "NRAK-[A-Z0-9]{27}"),
  prefixed("grafana-token", ["glsa_", "glc_"], "gl(?:sa|c)_[A-Za-z0-9_+/=]{32,300}"),
  prefixed("sentry-token", ["sntrys_", "sntryu_"], "sntry[su]_[A-Za-z0-9_+/=]{40,400}"),
  prefixed("doppler-token", ["dp."], String.raw`dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,80}`),
  prefixed("planetscale-token", ["pscale_"], "pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,80}"),
  prefixed("supabase-token", ["sbp_"], "sbp_[a-f0-9]{40}"),
  prefixed("netlify-token", ["nfp_"], "nfp_[A-Za-z0-9]{36,60}"),
  prefixed("atlassian-token", ["ATATT3x", "ATBB"], "(?:ATATT3x|ATBB)[A-Za-z0-9_=-]{24,300}", hasDigit),
  prefixed("tailscale-key", ["tskey-"], "tskey-[a-z]{3,12}-[A-Za-z0-9-]{20,80}"),
  prefixed("circleci-token", ["CCIPAT_"], "CCIPAT_[A-Za-z0-9_]{30,100}"),
  prefixed("buildkite-token", ["bkua_"], "bkua_[a-f0-9]{40}"),
  prefixed("alibaba-key", ["LTAI"], String.raw`LTAI[A-Za-z0-9]{16,24}(?!\w)`, hasDigit),
  { kind: "password-hash", hints: ["$2"], pattern: /\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}/g },
  {
    kind: "url-password",
    hints: ["://"],
    // A password can contain the sign that ends it.
    pattern: /[A-Za-z][A-Za-z0-9+.-]{1,20}:\/\/[^\s:/?#@"'`<>]{0,100}:([^\s/?#"'`<>]{1,200})@[\w[]/g,
    group: 1,
    check: (secret) => !isPlaceholder(secret),
  },
  {
    kind: "basic-auth",
    hints: ["asic "],
    pattern: /[Bb]asic ([A-Za-z0-9+/]{8,400}={0,2})(?![\w+/])/g,
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
    pattern: /(?:[Bb]earer|BEARER) {1,2}([A-Za-z0-9._~+/=-]{16,4000})/g,
    group: 1,
    check: (secret) => hasDigit(secret) && !isPlaceholder(secret),
  },
  {
    kind: "bearer-token",
    hints: ["uthorization"],
    pattern: /uthorization\\{0,7}["']?\s{0,4}[:=]\s{0,4}\\{0,7}["']?(?:[Bb]earer|[Tt]oken|Bot) {1,2}([A-Za-z0-9._~+/=-]{6,4000})/g,
    group: 1,
    check: (secret) => hasDigit(secret) && /[A-Za-z]/.test(secret) && !isPlaceholder(secret),
  },
  {
    kind: "bearer-token",
    hints: ["earer "],
    pattern: /(?<![A-Za-z])[Bb]earer {1,2}([A-Za-z0-9_~+/-]{8,15})(?![\w.~+/=-])/g,
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
    kind: "private-key",
    hints: ["client-key-data"],
    pattern: /client-key-data\\{0,7}["']?: {0,4}\\{0,7}["']?([A-Za-z0-9+/]{16,20000}={0,2})/g,
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
    hints: ["value=", "Value="],
    pattern: /(?:key|name)="[\w.:-]{0,60}(?:pass(?:word|wd|phrase)|secret|token|api[-_]?key)" {1,4}value="([^"<>]{4,500})"/gi,
    group: 1,
    check: isElementText,
  },
  {
    kind: "password",
    hints: [" -p"],
    pattern:
      /(?<=\b(?:mysql|mariadb|mycli)[\w-]{0,12}\b(?:[^\r\n|;]|\\\r?\n){0,400}) -p["']?((?<=')[^'\r\n]{3,200}|(?<=")[^"\r\n]{3,200}|[^\s"'$-][^\s"']{2,199})/g,
    group: 1,
    check: (secret) => !isPlaceholder(secret),
  },
  {
    kind: "password",
    hints: [" -p "],
    pattern:
      /(?<=\b(?:mongo(?:sh|dump|restore|export|import)?|docker login|podman login|helm registry login)\b(?:[^\r\n|;]|\\\r?\n){0,400}) -p {1,4}["']?([^\s"'$-][^\s"']{2,199})/g,
    group: 1,
    check: (secret) => !isPlaceholder(secret),
  },
  {
    kind: "password",
    hints: [" -a "],
    pattern: /(?<=\bredis-cli\b(?:[^\r\n|;]|\\\r?\n){0,400}) -a {1,4}["']?([^\s"'$-][^\s"']{2,199})/g,
    group: 1,
    check: (secret) => !isPlaceholder(secret),
  },
  {
    kind: "password",
    hints: ["-u ", "--user "],
    pattern: /(?<=\bcurl\b[^\r\n]{0,400}) (?:-u|--user) {1,4}["']?[^\s:"'$]{1,64}:([^\s"'$]{3,200})/g,
    group: 1,
    check: (secret) => !isPlaceholder(secret),
  },
  { kind: "password", hints: ["sshpass"], pattern: /sshpass\s{1,4}-p\s{0,4}["']?([^\s"'$]{3,200})/g, group: 1 },
  {
    kind: "password",
    hints: ["machine "],
    pattern: /machine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(\S{1,200})/g,
    group: 1,
    check: (secret) => !isPlaceholder(secret),
  },
];

const exampleWords =
  /^(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|user(?:name)?|example|sample|changeme|change-me|placeholder|redacted|hidden|none|null|undefined|true|false|todo|tbd|test|dummy|foo|bar|string|number|boolean|unknown)$/i;

/** True for values that are not real secrets: templates, variables, example words, repeated characters, redacted values. */
export function isPlaceholder(secret: string): boolean {
  return (
    secret.length === 0 ||
    looksHidden(secret) ||
    exampleWords.test(secret) ||
    /^(.)\1*$/s.test(secret) ||
    /\$[{(A-Za-z_]|\{\{|%[sdv]$|%[A-Z_]{2,}%|\[redacted/.test(secret) ||
    /^(?:<|\[|\{|\$|\*{3}|\.{3}|x{3}|your[-_ ]|my[-_]|enter[-_ ]|insert[-_ ]|replace[-_ ]|example[-_.])/i.test(secret)
  );
}
