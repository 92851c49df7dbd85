import { trimEnd } from "../contract/trim-end.ts";
import type { SecretSpan } from "./secret-spans.ts";
import { isPlaceholder } from "./secret-values.ts";

/** Passwords and tokens in the arguments of programs. */

interface CommandRule {
  /** Flags whose value is a secret, as the next word or after `=`. */
  readonly flags?: readonly string[];
  /** Flags with the secret attached: `-pSECRET`. */
  readonly attached?: readonly string[];
  /** Flags whose value ends with `:SECRET` or another sign and the secret. */
  readonly pairs?: readonly string[];
  readonly sign?: string;
  /** Words after which the next word is a secret. */
  readonly after?: RegExp;
}

const docker: CommandRule = { flags: ["-p"], after: /^(?:docker|podman|nerdctl|helm|oras|buildah|skopeo) (?:registry )?login / };
const rules: Readonly<Record<string, CommandRule>> = {
  mysql: { attached: ["-p"] },
  mongo: { flags: ["-p"] },
  docker,
  "redis-cli": { flags: ["-a", "--pass"] },
  sqlcmd: { flags: ["-P"] },
  curl: { pairs: ["-u", "--user", "-U", "--proxy-user"], sign: ":" },
  http: { pairs: ["-a", "--auth"], sign: ":" },
  smbclient: { pairs: ["-U", "--user"], sign: "%" },
  sshpass: { flags: ["-p"], attached: ["-p"] },
  zip: { flags: ["-P"] },
  "7z": { attached: ["-p"] },
  ldap: { flags: ["-w"] },
  openssl: { flags: ["-k"], pairs: ["-passin", "-passout", "-pass"], sign: "pass:" },
  twine: { flags: ["-p"] },
  az: { flags: ["-p"] },
  psexec: { flags: ["-p"] },
  mosquitto: { flags: ["-P"] },
  xfreerdp: { attached: ["/p:"] },
  gh: { flags: ["--body", "-b"], after: /^gh (?:secret|variable) set / },
  doctl: { flags: ["-t"], after: /^doctl auth / },
  wandb: { after: /^wandb login (?=\w)/ },
  cargo: { after: /^cargo login (?=\w)/ },
  vault: { after: /^vault login (?=\w)/ },
  ngrok: { after: /^ngrok (?:config add-authtoken|authtoken) / },
  htpasswd: { after: /^htpasswd -(?=\w*b)\w+(?: -\w+)* \S+ \S+ / },
  rabbitmqctl: { after: /^rabbitmqctl (?:add_user|change_password) \S+ / },
  net: { after: /^net use (?:\S+ )*\/user:\S+ / },
  nmcli: { after: /^nmcli .*\bpassword / },
  sqlplus: { after: /^sqlplus (?:-\w+ )*\w+\// },
  aws: { after: /^aws configure set (?:\S+\.)?aws_(?:secret_access_key|session_token) / },
  npm: { after: /^npm (?:config )?set \S*(?:_authToken|_auth|_password)[ =]/ },
  set: { after: /^(?:set -\w+|setx) \w*(?:PASS|PASSWORD|PWD|SECRET|TOKEN|KEY) / },
  AUTH: { after: /^AUTH (?:default )?/ },
};

/** Names of programs that share a rule. */
const aliases: readonly (readonly [RegExp, string])[] = [
  [/^(?:mysql|mariadb|mycli)/, "mysql"],
  [/^mongo/, "mongo"],
  [/^(?:podman|nerdctl|helm|oras|buildah|skopeo)$/, "docker"],
  [/^(?:https|xh)$/, "http"],
  [/^unzip$/, "zip"],
  [/^(?:7za|7zr|7zz)$/, "7z"],
  [/^ldap/, "ldap"],
  [/^mosquitto/, "mosquitto"],
  [/^wfreerdp$|^xfreerdp3$/, "xfreerdp"],
  [/^yarn$|^pnpm$/, "npm"],
  [/^setx$/, "set"],
];

const programs =
  /(?<![\w.-])(mysql\w*|mariadb[\w-]*|mycli|mongo\w*|docker|podman|nerdctl|helm|oras|buildah|skopeo|redis-cli|sqlcmd|curl|https?|xh|smbclient|sshpass|unzip|zip|7z[arz]?|ldap\w+|openssl|twine|az|psexec|mosquitto_[ps]ub|[xw]freerdp3?|gh|doctl|wandb|cargo|vault|ngrok|htpasswd|rabbitmqctl|net|nmcli|sqlplus|aws|npm|pnpm|yarn|setx?|AUTH)(?= )/g;

/** The rest of a command: up to the end of the line, going on behind a backslash. */
const commandEnd = /(?<!\\)\r?\n|[|;]|&&/g;
const longestCommand = 2_000;

/** Words with their quotes, and where each stands. */
const word = /"(?:[^"\\]|\\.)*"?|'[^']*'?|(?:\\.|[^\s"'\\])+(?:"[^"]*"?|'[^']*'?)?/g;

const bare = (text: string): string => trimEnd(text.replace(/^["']/, ""), "\"'`)\\");

/** A value that a script fills in, a flag, or a number of a port. */
const isNoSecret = (value: string): boolean =>
  value.length < 3 || /^[$%-]|^\d{1,5}:\d{1,5}$|^\[redacted|^HIDDEN_/.test(value) || isPlaceholder(value);

export function findCommands(text: string, into: SecretSpan[]): void {
  /** Where the last command of a program ends. Another program may run inside it, as in `docker exec`. */
  const ends = new Map<CommandRule, number>();
  programs.lastIndex = 0;
  for (let match = programs.exec(text); match !== null; match = programs.exec(text)) {
    const program = match[1] ?? "";
    const start = match.index + match[0].length - program.length;
    const rule = rules[aliases.find(([name]) => name.test(program))?.[1] ?? program];
    if (rule === undefined || start < (ends.get(rule) ?? 0)) continue;
    const whole = text.slice(start, start + longestCommand);
    commandEnd.lastIndex = 0;
    const command = whole.slice(0, commandEnd.exec(whole)?.index ?? whole.length);
    ends.set(rule, start + command.length);
    findArguments(command, start, rule, into);
  }
}

function findArguments(command: string, offset: number, rule: CommandRule, into: SecretSpan[]): void {
  const put = (from: number, value: string): void => {
    const lead = /^["']/.test(value) ? 1 : 0;
    const secret = bare(value);
    if (!isNoSecret(secret)) into.push({ start: offset + from + lead, end: offset + from + lead + secret.length, kind: "password" });
  };
  const begin = rule.after?.exec(command);
  if (rule.after !== undefined && begin === null) return;
  if (begin !== undefined && begin !== null && rule.flags === undefined) {
    const from = begin[0].length;
    word.lastIndex = from;
    const next = word.exec(command);
    const value = next?.[0].split("@")[0] ?? "";
    if (next !== null && next.index === from && (/\d/.test(value) || value.length >= 16)) put(from, value);
    return;
  }
  word.lastIndex = 0;
  const words = [...command.matchAll(word)];
  for (const [index, found] of words.entries()) {
    const written = found[0];
    const next = words[index + 1];
    if (rule.flags?.includes(written) === true && next !== undefined) put(next.index, next[0]);
    for (const flag of rule.attached ?? [])
      if (written.startsWith(flag) && written.length > flag.length && !/^-p?[=-]/.test(written))
        put(found.index + flag.length, written.slice(flag.length));
    const pair = rule.pairs?.find((flag) => written === flag);
    if (pair === undefined || next === undefined) continue;
    const sign = rule.sign ?? ":";
    const at = next[0].indexOf(sign);
    if (at !== -1 && !/^["']?[$%]/.test(next[0])) put(next.index + at + sign.length, next[0].slice(at + sign.length));
  }
}
