import type { Intent, Rule } from "../contract/governance.ts";

interface Offer {
  /** The tool it names; left out where that cannot be used. */
  readonly tool?: string;
  readonly text: string;
  /** It changes files. */
  readonly writes?: true;
}

/** What programs do that a tool does with less risk. First words of simple commands. */
const programs: readonly { readonly names: readonly string[]; readonly offers: readonly Offer[] }[] = [
  {
    names: ["cat", "head", "tail", "less", "more", "bat", "nl", "type", "Get-Content"],
    offers: [{ tool: "read_file", text: "Read the file with read_file." }],
  },
  {
    names: ["ls", "dir", "tree", "find", "fd", "fdfind"],
    offers: [{ tool: "list_files", text: "List files with list_files." }],
  },
  {
    names: ["grep", "egrep", "fgrep", "rg", "ag", "ack"],
    offers: [{ tool: "search_workspace", text: "Search with search_workspace." }],
  },
  {
    names: ["sed", "perl", "awk", "ed", "ex", "vim", "vi", "nano"],
    offers: [{ tool: "edit_file", text: "Change the file with edit_file, which can be undone.", writes: true }],
  },
  {
    names: ["tee", "touch", "echo", "printf", "cp", "mv", "install", "dd"],
    offers: [{ tool: "write_file", text: "Write the file with write_file, which can be undone.", writes: true }],
  },
  {
    names: ["rm", "unlink", "shred", "del", "rmdir", "trash"],
    offers: [
      { tool: "delete_file", text: "Delete one file at a time with delete_file; the owner is asked about each by its name.", writes: true },
      { text: "Leave the files and say in your answer which are no longer needed." },
    ],
  },
  {
    names: ["patch"],
    offers: [{ tool: "apply_patch", text: "Apply the patch with apply_patch, which can be undone.", writes: true }],
  },
  {
    names: ["curl", "wget", "http", "https", "nc", "ncat", "telnet"],
    offers: [
      { tool: "fetch_url", text: "Read the page with fetch_url, if its host is on the owner's list." },
      { text: "Ask the owner to paste what you need from there." },
    ],
  },
  {
    names: ["sudo", "doas", "su", "pkexec", "runas"],
    offers: [{ text: "Do it without other rights; what needs them is given to the owner as an exact command." }],
  },
  {
    names: ["npx", "npm", "pnpm", "yarn", "pip", "pip3", "cargo", "brew", "apt", "apt-get"],
    offers: [
      { text: "Use what the project has installed already." },
      {
        tool: "edit_file",
        text: "Name the dependency in the project's manifest with edit_file and let the owner install it.",
        writes: true,
      },
    ],
  },
  {
    names: ["bash", "sh", "zsh", "dash", "fish", "eval", "xargs", "env", "ssh", "pwsh", "powershell"],
    offers: [{ text: "Run the inner command by itself, written out, so that it can be judged." }],
  },
  {
    names: ["node", "python", "python3", "ruby", "php", "deno", "bun"],
    offers: [
      {
        tool: "write_file",
        text: "Put the code into a file of the project with write_file, where the owner can read it, and run that file.",
        writes: true,
      },
    ],
  },
  {
    names: ["kill", "pkill", "killall"],
    offers: [{ text: "Tell the owner which process is in the way." }],
  },
];

const gitCommands: Readonly<Record<string, readonly Offer[]>> = {
  status: [{ tool: "git_status", text: "Look with git_status." }],
  diff: [{ tool: "git_diff", text: "Look with git_diff." }],
  log: [{ tool: "git_log", text: "Look with git_log." }],
  show: [{ tool: "git_log", text: "Look with git_log and git_diff." }],
  push: [{ text: "Commit, and let the owner push." }],
  reset: [{ text: "Make a new branch instead of moving the one there is." }],
  rebase: [{ text: "Make a new commit instead of rewriting those there are." }],
  clean: [{ text: "Say in your answer which files are no longer needed." }],
  apply: [{ tool: "apply_patch", text: "Apply the patch with apply_patch, which can be undone.", writes: true }],
};

/** By capability.action; `*` for every action of a capability. */
const actions: Readonly<Record<string, readonly Offer[]>> = {
  "file_ops.delete": [
    { tool: "edit_file", text: "Take the content out with edit_file, which can be undone.", writes: true },
    { text: "Leave the file and say in your answer that it is no longer needed." },
  ],
  "file_ops.write": [{ text: "Show the owner the exact text in your answer, so that they can put it there." }],
  "file_ops.apply_patch": [
    {
      tool: "edit_file",
      text: "Change one file at a time with edit_file: what may be changed is then not held up by what may not.",
      writes: true,
    },
  ],
  "file_ops.read": [
    { tool: "search_workspace", text: "Look for what you need elsewhere with search_workspace." },
    { tool: "list_files", text: "See with list_files what can be read." },
  ],
  "repo_ops.push": [{ text: "Commit, and give the owner the exact git push command." }],
  "repo_ops.commit": [{ text: "Leave the changes uncommitted and propose a commit message in your answer." }],
  "repo_ops.checkout": [{ text: "Work on the branch that is checked out." }],
  "repo_ops.clone": [{ text: "Ask the owner to clone it into the workspace." }],
  "repo_ops.apply_patch": [{ tool: "apply_patch", text: "Change the files with apply_patch, which can be undone.", writes: true }],
  "web_ops.*": [
    { tool: "search_workspace", text: "Look in the workspace with search_workspace: dependencies often carry their own documentation." },
    { text: "Ask the owner to paste what you need." },
  ],
  "web_ops.post": [{ text: "Write out the exact request in your answer and let the owner send it." }],
  "web_ops.download": [{ text: "Ask the owner to put the file into the workspace." }],
  "deploy_ops.*": [{ text: "Give the owner the exact command and what to check after it." }],
  "vision_control.*": [{ text: "Ask the owner what the screen shows." }],
  "memory.write": [{ text: "Say it in your answer instead of keeping it." }],
  "memory.read": [{ text: "Work from the conversation and the files." }],
  "skill.*": [{ text: "Do it step by step with the tools that are listed." }],
  "connector.send": [{ text: "Draft the message in your answer and let the owner send it." }],
};

/** By rule: the first that fits speaks. */
const byRule: readonly { readonly rule: RegExp; readonly offers: readonly Offer[] }[] = [
  { rule: /^secret\./, offers: [{ tool: "read_file", text: "Read a template beside it, such as .env.example, with read_file." }] },
  { rule: /^protected\./, offers: [{ text: "Describe the change and let the owner make it: this file decides what programs may do." }] },
  { rule: /^own\./, offers: [{ text: "Describe the setting and let the owner change it by hand." }] },
  { rule: /^tier\.outside$|^path\./, offers: [{ text: "Name a file inside the workspace by its path below the workspace." }] },
  {
    rule: /^memory\.persona$/,
    offers: [
      { tool: "soul_propose_amendment", text: "If the owner asked for it, propose a change of the soul with soul_propose_amendment." },
    ],
  },
  {
    rule: /^memory\.(?:namespace|other-task|everywhere)$/,
    offers: [{ tool: "memory_insert", text: "Keep it for this workspace: memory_insert to archival without a namespace." }],
  },
  {
    rule: /^memory\.(?:target|size|op)$/,
    offers: [{ tool: "memory_insert", text: "Keep the one fact that matters, in a sentence, with memory_insert to archival." }],
  },
  { rule: /^memory\./, offers: [{ text: "Tell the owner which memory you mean, by its text and id; they decide in the Memory panel." }] },
  { rule: /^network\.off$/, offers: [{ text: "Tell the owner that the network is off; they can turn it on in the settings." }] },
  { rule: /^network\./, offers: [{ text: "Use a host that is on the owner's list, or tell the owner which host you need." }] },
  {
    rule: /^policy\.untrusted$/,
    offers: [{ text: "Explain in your answer what you would change; nothing is written until the owner trusts the workspace." }],
  },
  { rule: /^soul\.not-named$/, offers: [{ text: "Do the part of it that needs no approval first." }] },
  { rule: /^soul\.|^mode\.|^learning\./, offers: [{ text: "Do the rest of the task without this step and say that it is missing." }] },
];

const maxCommand = 4000;

/**
 * What can be done instead, best first, naming usable tools only. A command line is looked at as text here: this is advice, what is
 * allowed is decided from its syntax tree.
 */
export function advice(
  { capability, action, args }: Pick<Intent, "capability" | "action" | "args">,
  rules: readonly Rule[],
  usable: ReadonlySet<string>,
): string[] {
  const { command } = args;
  const offers = [
    ...(capability === "shell_exec" && typeof command === "string" ? forCommand(command.slice(0, maxCommand)) : []),
    ...(actions[`${capability}.${action}`] ?? []),
    ...(actions[`${capability}.*`] ?? []),
    ...rules.flatMap(({ id }) => byRule.find(({ rule }) => rule.test(id))?.offers ?? []),
  ];
  const readOnly = rules.some(({ id }) => id === "policy.untrusted");
  return offers
    .filter(({ tool, writes }) => (tool === undefined || usable.has(tool)) && !(readOnly && writes === true))
    .map(({ text }) => text);
}

function forCommand(command: string): Offer[] {
  const parts = command
    .split(/&&|\|\||(?<!>)[;&|\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const offers: Offer[] = [];
  for (const part of parts) {
    const words = part.split(/\s+/).filter((word) => !/^\w+=/.test(word));
    const program = (words[0] ?? "").replace(/.*[\\/]/, "");
    if (program === "git") offers.push(...(gitCommands[words.find((word) => Object.hasOwn(gitCommands, word)) ?? ""] ?? []));
    offers.push(...(programs.find(({ names }) => names.includes(program))?.offers ?? []));
  }
  if (parts.length > 1) offers.push({ text: "Run one command at a time, so that each is judged by itself." });
  if (/\$\(|`|<\(/.test(command)) offers.push({ text: "Write values out instead of computing them inside the command." });
  // Into a file: not `2>`, `>&` or `=>`, and not into nothing.
  if (/(?<![<>=&\d])>>?(?![>&]|\s*\/dev\/null)/.test(command)) {
    offers.push({ tool: "write_file", text: "Write the file with write_file, which can be undone.", writes: true });
  }
  return offers;
}
