import type { Intent, Rule } from "../contract/governance.ts";

interface Suggestion {
  /** The suggested tool; the suggestion is skipped when the tool is unavailable. */
  readonly tool?: string;
  readonly text: string;
  /** True when the suggestion changes files. */
  readonly writes?: true;
}

/** Programs that a tool can replace with less risk, by the first word of a command. */
const programs: readonly { readonly names: readonly string[]; readonly suggestions: readonly Suggestion[] }[] = [
  {
    names: ["cat", "head", "tail", "less", "more", "bat", "nl", "type", "Get-Content"],
    suggestions: [{ tool: "read_file", text: "Read the file with read_file." }],
  },
  {
    names: ["ls", "dir", "tree", "find", "fd", "fdfind"],
    suggestions: [{ tool: "list_files", text: "List files with list_files." }],
  },
  {
    names: ["grep", "egrep", "fgrep", "rg", "ag", "ack"],
    suggestions: [{ tool: "search_workspace", text: "Search with search_workspace." }],
  },
  {
    names: ["sed", "perl", "awk", "ed", "ex", "vim", "vi", "nano"],
    suggestions: [{ tool: "edit_file", text: "Change the file with edit_file, which can be undone.", writes: true }],
  },
  {
    names: ["tee", "touch", "echo", "printf", "cp", "mv", "install", "dd"],
    suggestions: [{ tool: "write_file", text: "Write the file with write_file, which can be undone.", writes: true }],
  },
  {
    names: ["rm", "unlink", "shred", "del", "rmdir", "trash"],
    suggestions: [
      { tool: "delete_file", text: "Delete one file at a time with delete_file; the owner is asked about each by its name.", writes: true },
      { text: "Leave the files and say in your answer which are no longer needed." },
    ],
  },
  {
    names: ["patch"],
    suggestions: [{ tool: "apply_patch", text: "Apply the patch with apply_patch, which can be undone.", writes: true }],
  },
  {
    names: ["curl", "wget", "http", "https", "nc", "ncat", "telnet"],
    suggestions: [
      { tool: "fetch_url", text: "Read the page with fetch_url, if its host is on the owner's list." },
      { text: "Ask the owner to paste what you need from there." },
    ],
  },
  {
    names: ["sudo", "doas", "su", "pkexec", "runas"],
    suggestions: [{ text: "Do it without elevated privileges; give the owner the exact command for the part that needs them." }],
  },
  {
    names: ["npx", "npm", "pnpm", "yarn", "pip", "pip3", "cargo", "brew", "apt", "apt-get"],
    suggestions: [
      { text: "Use the dependencies that the project has installed." },
      {
        tool: "edit_file",
        text: "Name the dependency in the project's manifest with edit_file and let the owner install it.",
        writes: true,
      },
    ],
  },
  {
    names: ["bash", "sh", "zsh", "dash", "fish", "eval", "xargs", "env", "ssh", "pwsh", "powershell"],
    suggestions: [{ text: "Run the inner command directly, so that it can be checked." }],
  },
  {
    names: ["node", "python", "python3", "ruby", "php", "deno", "bun"],
    suggestions: [
      {
        tool: "write_file",
        text: "Put the code into a file of the project with write_file, where the owner can read it, and run that file.",
        writes: true,
      },
    ],
  },
  {
    names: ["kill", "pkill", "killall"],
    suggestions: [{ text: "Tell the owner which process to stop." }],
  },
];

const gitCommands: Readonly<Record<string, readonly Suggestion[]>> = {
  status: [{ tool: "git_status", text: "Use git_status." }],
  diff: [{ tool: "git_diff", text: "Use git_diff." }],
  log: [{ tool: "git_log", text: "Use git_log." }],
  show: [{ tool: "git_log", text: "Use git_log and git_diff." }],
  push: [{ text: "Commit, and let the owner push." }],
  reset: [{ text: "Create a branch instead of moving the current one." }],
  rebase: [{ text: "Create a commit instead of rewriting history." }],
  clean: [{ text: "Say in your answer which files are no longer needed." }],
  apply: [{ tool: "apply_patch", text: "Apply the patch with apply_patch, which can be undone.", writes: true }],
};

/** By capability.action; `*` for every action of a capability. */
const actions: Readonly<Record<string, readonly Suggestion[]>> = {
  "file_ops.delete": [
    { tool: "edit_file", text: "Remove the content with edit_file, which can be undone.", writes: true },
    { text: "Leave the file and say in your answer that it is no longer needed." },
  ],
  "file_ops.write": [{ text: "Show the owner the exact text in your answer, so that they can insert it." }],
  "file_ops.apply_patch": [
    {
      tool: "edit_file",
      text: "Change one file at a time with edit_file, so that one denied file does not block the others.",
      writes: true,
    },
  ],
  "file_ops.read": [
    { tool: "search_workspace", text: "Search elsewhere with search_workspace." },
    { tool: "list_files", text: "List readable files with list_files." },
  ],
  "repo_ops.push": [{ text: "Commit, and give the owner the exact git push command." }],
  "repo_ops.commit": [{ text: "Leave the changes uncommitted and propose a commit message in your answer." }],
  "repo_ops.checkout": [{ text: "Work on the current branch." }],
  "repo_ops.clone": [{ text: "Ask the owner to clone it into the workspace." }],
  "repo_ops.apply_patch": [{ tool: "apply_patch", text: "Change the files with apply_patch, which can be undone.", writes: true }],
  "web_ops.*": [
    { tool: "search_workspace", text: "Search the workspace with search_workspace: dependencies often include their documentation." },
    { text: "Ask the owner to paste what you need." },
  ],
  "web_ops.post": [{ text: "Give the owner the exact request in your answer." }],
  "web_ops.download": [{ text: "Ask the owner to add the file to the workspace." }],
  "deploy_ops.*": [{ text: "Give the owner the exact command and the checks to run afterward." }],
  "vision_control.*": [{ text: "Ask the owner what the screen shows." }],
  "memory.write": [{ text: "Say it in your answer instead of storing it." }],
  "memory.read": [{ text: "Work from the conversation and the files." }],
  "skill.*": [{ text: "Do it step by step with the listed tools." }],
  "connector.send": [{ text: "Draft the message in your answer and let the owner send it." }],
};

/** By rule: the first match applies. */
const byRule: readonly { readonly rule: RegExp; readonly suggestions: readonly Suggestion[] }[] = [
  { rule: /^secret\./, suggestions: [{ tool: "read_file", text: "Read a template beside it, such as .env.example, with read_file." }] },
  {
    rule: /^protected\./,
    suggestions: [{ text: "Describe the change and let the owner make it: this file controls what programs may do." }],
  },
  { rule: /^own\./, suggestions: [{ text: "Describe the setting and let the owner change it by hand." }] },
  { rule: /^tier\.outside$|^path\./, suggestions: [{ text: "Use the path of a file inside the workspace." }] },
  {
    rule: /^memory\.persona$/,
    suggestions: [
      { tool: "soul_propose_amendment", text: "If the owner asked for it, propose a soul amendment with soul_propose_amendment." },
    ],
  },
  {
    rule: /^memory\.(?:namespace|other-task|everywhere)$/,
    suggestions: [{ tool: "memory_insert", text: "Store it for this workspace: memory_insert to archival without a namespace." }],
  },
  {
    rule: /^memory\.(?:target|size|op)$/,
    suggestions: [{ tool: "memory_insert", text: "Store the one important fact, as a sentence, with memory_insert to archival." }],
  },
  { rule: /^memory\./, suggestions: [{ text: "Tell the owner which memory you mean, by text and id; they decide in the Memory panel." }] },
  { rule: /^network\.off$/, suggestions: [{ text: "Tell the owner that the network is off; they can turn it on in the settings." }] },
  { rule: /^network\./, suggestions: [{ text: "Use a host on the owner's list, or tell the owner which host you need." }] },
  {
    rule: /^policy\.untrusted$/,
    suggestions: [{ text: "Explain in your answer what you would change; nothing is written until the owner trusts the workspace." }],
  },
  { rule: /^soul\.not-named$/, suggestions: [{ text: "Do the part that needs no approval first." }] },
  {
    rule: /^soul\.|^mode\.|^learning\./,
    suggestions: [{ text: "Do the rest of the task without this step, and say that it is missing." }],
  },
];

const maxCommand = 4000;

/**
 * Alternatives to a denied action, best first, with available tools only. Reads a command line as text, because this is only
 * advice: the decision itself uses the syntax tree.
 */
export function adviceFor(
  { capability, action, args }: Pick<Intent, "capability" | "action" | "args">,
  rules: readonly Rule[],
  usable: ReadonlySet<string>,
): string[] {
  const { command } = args;
  const suggestions = [
    ...(capability === "shell_exec" && typeof command === "string" ? forCommand(command.slice(0, maxCommand)) : []),
    ...(actions[`${capability}.${action}`] ?? []),
    ...(actions[`${capability}.*`] ?? []),
    ...rules.flatMap(({ id }) => byRule.find(({ rule }) => rule.test(id))?.suggestions ?? []),
  ];
  const readOnly = rules.some(({ id }) => id === "policy.untrusted");
  return suggestions
    .filter(({ tool, writes }) => (tool === undefined || usable.has(tool)) && !(readOnly && writes === true))
    .map(({ text }) => text);
}

function forCommand(command: string): Suggestion[] {
  const parts = command
    .split(/&&|\|\||(?<!>)[;&|\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const suggestions: Suggestion[] = [];
  for (const part of parts) {
    const words = part.split(/\s+/).filter((word) => !/^\w+=/.test(word));
    const program = (words[0] ?? "").replace(/^.*[\\/]/, "");
    if (program === "git") suggestions.push(...(gitCommands[words.find((word) => Object.hasOwn(gitCommands, word)) ?? ""] ?? []));
    suggestions.push(...(programs.find(({ names }) => names.includes(program))?.suggestions ?? []));
  }
  if (parts.length > 1) suggestions.push({ text: "Run one command at a time, so that each is checked separately." });
  if (/\$\(|`|<\(/.test(command)) suggestions.push({ text: "Write literal values instead of computing them inside the command." });
  // A redirect into a file: not `2>`, `>&`, `=>` or `/dev/null`.
  if (/(?<![<>=&\d])>>?(?![>&]|\s*\/dev\/null)/.test(command)) {
    suggestions.push({ tool: "write_file", text: "Write the file with write_file, which can be undone.", writes: true });
  }
  return suggestions;
}
