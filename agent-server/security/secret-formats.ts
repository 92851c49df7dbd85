import { hasDigit, isMixed, isPlaceholder } from "./secret-values.ts";

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

/** The first part of a Discord bot token is its numeric user id in base64. */
const startsWithBase64Digits = (secret: string): boolean =>
  /^\d{16,20}$/.test(Buffer.from(secret.slice(0, secret.indexOf(".")), "base64url").toString("latin1"));

const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** True for a token after an unknown prefix: capitals, small letters and digits in a disorder that no name has. */
function isRandomToken(secret: string): boolean {
  const body = secret.slice(secret.search(/[A-Za-z0-9]{16,}|(?<![\w-])[\w-]{24,}$/));
  const changes = body.match(/[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|\d(?=[A-Za-z])/g)?.length ?? 0;
  return /\d.*\d/.test(body) && /[a-z]/.test(body) && /[A-Z].*[A-Z]/.test(body) && changes >= body.length / 3 && !isPlaceholder(secret);
}

/** Parts of a prefix that announce a token; others (`msg_…`, `user_…`) announce identifiers, which are no secrets. */
const tokenWords =
  "key|tok|token|pat|sk|secret|esecret|live|prod|test|api|auth|oauth|access|refresh|svc|jwt|" +
  "jina|re|tfp|CFPAT|nvapi|pcsk|csk|fw|tvly|phx|npg|rnd|rw|md|tgp|NRII|whsec|ATCTT3xFf";

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
  prefixed("github-token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], "gh[pousr]_[A-Za-z0-9]{16,255}", hasDigit),
  prefixed("github-token", ["github_pat_"], "github_pat_[A-Za-z0-9_]{40,255}"),
  prefixed(
    "gitlab-token",
    ["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-"],
    "gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[A-Za-z0-9_.-]{20,300}",
    hasDigit,
  ),
  prefixed("slack-token", ["xox"], "(?:xoxe[.-])?xox[abcdeoprs]-[A-Za-z0-9%_-]{10,400}", hasDigit),
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
  prefixed("openai-key", ["sk-"], String.raw`sk-[A-Za-z0-9]{16,120}(?![\w-])`, (secret) => hasDigit(secret) && isMixed(secret)),
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
  // Bounded, so that no text makes each of its beginnings a search to the end.
  // A header that begins again in its middle is read from there on: each character belongs to one header.
  prefixed("jwt", ["eyJ"], String.raw`eyJ(?:(?!eyJ)[A-Za-z0-9_-]){0,3000}\.eyJ[A-Za-z0-9_-]{8,20000}\.[A-Za-z0-9_-]{8,}`),
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
  prefixed("fly-token", ["fm1", "fm2_"], "fm(?:1[ar]?|2)_[A-Za-z0-9+/=_,-]{40,4000}", hasDigit),
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
  prefixed("langfuse-key", ["sk-lf-"], `sk-lf-${uuid}`),
  prefixed("amazon-token", ["amzn.mws."], String.raw`amzn\.mws\.` + uuid),
  prefixed("aws-token", ["ABSK"], "ABSK[A-Za-z0-9+/]{80,200}={0,2}"),
  prefixed("aws-token", ["IQoJb3JpZ2lu"], "IQoJb3JpZ2lu[A-Za-z0-9+/=]{60,2000}"),
  prefixed("google-key", ["APA91b"], String.raw`[A-Za-z0-9_-]{7,14}:APA91b[A-Za-z0-9_-]{100,200}`),
  prefixed("cloudflare-key", ["v1.0-"], String.raw`v1\.0-[a-f0-9]{24}-[a-f0-9]{100,160}`),
  prefixed("braintree-token", ["access_token$"], String.raw`access_token\$(?:production|sandbox)\$[a-z0-9]{10,20}\$[a-f0-9]{32}`),
  prefixed("plaid-token", ["access-"], `access-(?:production|development|sandbox)-${uuid}`),
  prefixed("flutterwave-key", ["FLWSECK"], "FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,40}(?:-X)?"),
  prefixed("easypost-key", ["EZAK", "EZTK"], "EZ[AT]K[A-Za-z0-9]{50,60}", hasDigit),
  prefixed("dynatrace-token", ["dt0"], String.raw`dt0[a-z]\d\d\.[A-Z0-9]{20,30}\.[A-Z0-9]{50,80}`),
  prefixed("launchdarkly-key", ["sdk-", "api-", "mob-"], `(?:sdk|api|mob)-${uuid}`),
  prefixed("hubspot-token", ["pat-"], String.raw`pat-(?:na|eu|ap)\d-` + uuid),
  prefixed("clickup-token", ["pk_"], String.raw`pk_\d{5,12}_[A-Z0-9]{32}(?!\w)`),
  prefixed("airtable-token", ["pat"], String.raw`pat[A-Za-z0-9]{14}\.[a-f0-9]{64}`),
  prefixed("trello-token", ["ATTA"], "ATTA[a-f0-9]{64}[A-F0-9]{8}"),
  prefixed("salesforce-token", ["00D"], String.raw`00D[A-Za-z0-9]{12,15}![A-Za-z0-9_.]{60,140}`),
  prefixed("dropbox-token", ["sl."], String.raw`sl\.(?:u\.)?[A-Za-z0-9_-]{100,1600}`, hasDigit),
  prefixed("mapbox-token", ["sk.eyJ"], String.raw`sk\.eyJ[A-Za-z0-9_-]{40,200}\.[A-Za-z0-9_-]{20,60}`),
  prefixed("1password-token", ["ops_eyJ"], "ops_eyJ[A-Za-z0-9+/_=-]{100,2000}"),
  prefixed("1password-key", ["A3-"], String.raw`A3-[A-Z0-9]{6}-[A-Z0-9]{11}(?:-[A-Z0-9]{5}){3}(?![\w-])`),
  prefixed("infisical-token", ["st."], String.raw`st\.[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}`),
  prefixed("riot-key", ["RGAPI-"], `RGAPI-${uuid}`),
  prefixed("rapidapi-key", ["jsn"], "[a-f0-9]{10}msh[a-f0-9]{15}p[a-f0-9]{6}jsn[a-f0-9]{12}"),
  prefixed("deepl-key", [":fx"], String.raw`${uuid}:fx(?!\w)`),
  prefixed("asana-token", ["2/"], String.raw`2/\d{14,18}/\d{14,18}:[a-f0-9]{32}`),
  prefixed("pagerduty-key", ["u+"], String.raw`u\+[A-Za-z0-9_-]{18}(?![\w+/=-])`, isMixed),
  prefixed("tencent-key", ["AKID"], String.raw`AKID[A-Za-z0-9]{32}(?!\w)`, hasDigit),
  prefixed("yandex-key", ["AQVN"], String.raw`AQVN[A-Za-z0-9_-]{34,38}(?![\w-])`, hasDigit),
  prefixed("artifactory-key", ["AKCp", "cmVmd"], String.raw`(?:AKCp\d?[A-Za-z0-9]{60,80}|cmVmd[A-Za-z0-9+/=]{55,80})(?![\w+/])`, hasDigit),
  prefixed("facebook-token", ["EAA"], String.raw`EAA[A-Za-z0-9]{80,300}(?!\w)`, hasDigit),
  prefixed("instagram-token", ["IGQV"], "IGQV[A-Za-z0-9_-]{80,300}", hasDigit),
  prefixed("twitter-token", ["AAAAAAAAAAAAAAAAAAAA"], "A{20,24}[A-Za-z0-9%]{60,120}", isRandomToken),
  prefixed("teams-webhook", ["/IncomingWebhook/"], String.raw`(?<=webhookb2/[\w@-]{30,80}/IncomingWebhook/)[a-f0-9]{32}`),
  prefixed("ethereum-key", ["0x"], String.raw`(?<=(?:private|secret)[_ -]?key\W{1,4})0x[a-fA-F0-9]{64}(?!\w)`),
  // Tokens of many services: a short name, or a word for what it is, and a long random part.
  {
    kind: "token",
    hints: ["_", "-"],
    pattern: new RegExp(
      String.raw`(?<![\w./+=@#%-])(?!pk_)(?:[A-Za-z][A-Za-z0-9]{0,11}[_-]){0,2}(?:${tokenWords})[_-](?:[A-Za-z0-9]{1,8}[_-]){0,2}` +
        "(?:[A-Za-z0-9]{20,400}(?:_[A-Za-z0-9]{8,40})?|[A-Za-z0-9_-]{32,200})={0,2}(?![\\w+/=-])",
      "g",
    ),
    check: isRandomToken,
  },
  {
    kind: "token",
    hints: ["_", "pul-", "xkeysib-", "xsmtpsib-", "csk-"],
    pattern:
      /(?<![\w./+-])(?:(?:[a-z]{2,10}_(?:live|test|prod|uut|api|oauth)_|CLOJARS_|sq[upa]_|lsv2_[sp][tk]_|x(?:key|smtp)sib-|pul-|csk-)[a-z0-9]{32,68}(?:[_-][A-Za-z0-9]{8,20})?|hca?[a-z]{2,3}_[a-z0-9]{58})(?![\w-])/g,
  },
];
