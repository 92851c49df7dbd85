import { type Call, given } from "./program-call.ts";
import { type Field, literal, startOf, valueOf } from "./shell-fields.ts";
import { asks, denies, type Finding, holds } from "./command-findings.ts";
import { isGuarded, judgePath } from "./command-paths.ts";
import type { PathContext } from "./types.ts";
import { pathContext, type Scope } from "./command-scope.ts";

const harmlessGitSetting =
  /^(?:color\.[\w.]+|core\.(?:quotepath|abbrev|ignorecase)|log\.\w+|diff\.(?:noprefix|renames|context|algorithm|colormoved|mnemonicprefix)|status\.\w+|column\.\w+|advice\.\w+|grep\.\w+|blame\.\w+|core\.pager|pager\.\w+)=(?:[\w.-]*)$/i;

export function git(call: Call): boolean {
  const context = pathContext(call.scope);
  for (const { name, value } of call.given.flags.slice(0, settingsEnd(call))) {
    if (name !== "-c" || value === null) continue;
    const setting = valueOf(value);
    if (setting !== null && !setting.includes("=")) continue;
    if (
      setting === null ||
      !harmlessGitSetting.test(setting) ||
      /pager/i.test(setting) === !/pager\w*(?:\.\w+)?=(?:cat|false|true|less)?$/i.test(setting)
    ) {
      call.findings.push(
        holds("git.setting", "A setting given with -c can make git run other commands.", ["Leave -c out."], ["execute", "settings"]),
      );
    }
    const alias = /^alias\.[^=]*=!?(.*)$/s.exec(setting ?? "");
    if (alias?.[1] !== undefined) call.judgeShell(literal(setting?.includes("=!") === true ? alias[1] : `git ${alias[1]}`), "git alias");
  }
  const sub = valueOf(call.given.operands[0]);
  for (const field of call.args) {
    const word = startOf(field);
    if (!word.startsWith("-")) break;
    if (
      !/^(?:-C.*|-c.*|--no-pager|-P|--version|-v|--help|-h|--no-optional-locks|--literal-pathspecs|--glob-pathspecs|--icase-pathspecs|--no-replace-objects|--git-dir.*|--work-tree.*)$/.test(
        word,
      )
    ) {
      call.findings.push(
        holds("git.global", `The flag ${word} changes how git works before the sub-command.`, ["Leave the flag out."], ["settings"]),
      );
    }
    if (word === "-C" || word === "-c") break;
  }
  for (const { name, value } of call.given.flags) {
    if (name !== "-L" || value === null) continue;
    const range = startOf(value);
    call.findings.push(
      ...judgePath(literal(range.slice(range.lastIndexOf(":") + 1)), "maybe", context).filter(({ verdict }) => verdict === "deny"),
    );
  }
  for (const operand of call.operands) {
    const value = valueOf(operand);
    if (value === null) continue;
    if (/^(?:ext|fd)::/.test(value))
      call.findings.push(
        denies("git.transport", "An ext:: address makes git run a program.", ["Use an https or ssh address."], ["execute"]),
      );
    const colon = value.indexOf(":");
    if (
      colon >= 0 &&
      (sub === "show" || sub === "cat-file" || sub === "diff" || sub === "archive" || sub === "checkout" || sub === "log")
    ) {
      call.findings.push(...judgePath(literal(value.slice(colon + 1)), "maybe", context).filter(({ verdict }) => verdict === "deny"));
    }
  }
  if (sub === "checkout" && !given(call, "-b", "-B", "--orphan")) {
    const named = call.operands.some((operand) => operand.kind !== "static" || isExisting(operand.value, context));
    if (named || call.args.some((field) => valueOf(field) === "--")) {
      call.findings.push(
        holds(
          "git.discard-file",
          "This throws away changes to files.",
          ["Look first, with git diff.", "Set changes aside with git stash push."],
          ["delete", "history"],
        ),
      );
    }
  }
  if (sub === "clean" && call.base?.finding.verdict !== "allow" && call.operands.length === 0 && isGuarded(".", context)) {
    call.findings.push({
      ...holds(
        "git.clean-all",
        "This deletes every file of the workspace that git does not track.",
        ["Look first, with git clean -n."],
        ["delete", "destroy"],
      ),
      risk: "critical",
    });
  }
  return false;
}

/** Behind `switch` a flag -c names a new branch; before it, and with every other sub-command, a setting. */
function settingsEnd(call: Call): number {
  const [sub] = call.given.operands;
  if (sub === undefined || valueOf(sub) !== "switch") return call.given.flags.length;
  const before = call.args.slice(0, call.args.indexOf(sub));
  return before.filter((word) => startOf(word).startsWith("-")).length;
}

function isExisting(path: string, context: PathContext): boolean {
  return (context.cwds ?? []).some((cwd) => {
    const resolved = context.resolve(cwd === "." ? path : `${cwd}/${path}`);
    return resolved.ok && resolved.type !== "missing";
  });
}

const mountFlags = new Set(["-v", "--volume", "--mount"]);

export function container(call: Call): boolean {
  for (const { name, value } of call.given.flags) {
    const text = value === null ? "" : value.kind === "static" ? value.value : startOf(value);
    if (mountFlags.has(name)) {
      const source = name === "--mount" ? (/(?:^|,)(?:source|src)=([^,]*)/.exec(text)?.[1] ?? "") : (text.split(":")[0] ?? "");
      if (/docker\.sock|podman\.sock|containerd\.sock/.test(text))
        call.findings.push(escapes("hands the container the engine that runs every other one"));
      else if (value?.kind === "dynamic" && source === text)
        call.findings.push(
          holds("container-mount", "What this mounts is known only when it runs.", ["Name the folder itself."], ["container"]),
        );
      else if (/^[/~.]/.test(source)) {
        const context = pathContext(call.scope);
        if (isGuarded(source, context) && !isWorkspaceFolder(source, call.scope))
          call.findings.push(escapes(`gives the container ${source} of this machine`));
        else
          call.findings.push(
            ...judgePath(literal(source), "read", context),
            ...judgePath(literal(source), "create", context).filter(({ tier }) => tier === "T3"),
          );
      }
    } else if (
      /^--(?:privileged|cap-add|security-opt|device|device-cgroup-rule)$/.test(name) &&
      !/^(?:no-new-privileges|false)/.test(text)
    ) {
      call.findings.push(escapes("gives the container rights over this machine"));
    } else if (/^--(?:pid|ipc|uts|userns|cgroupns|network|net)$/.test(name) && text === "host") {
      call.findings.push(
        /net/.test(name)
          ? holds(
              "container-host-network",
              "The container would use this machine's network.",
              ["Leave the network flag out."],
              ["container", "network"],
            )
          : escapes("opens this machine's processes to the container"),
      );
    }
  }
  return false;
}

function isWorkspaceFolder(path: string, scope: Scope): boolean {
  const resolved = scope.run.engine.paths.resolve(path);
  return resolved.ok && resolved.inside;
}

function escapes(what: string): Finding {
  return denies(
    "container-escape",
    `This ${what}, and so lets it out.`,
    ["Run the container without that flag, with the workspace alone mounted."],
    ["container", "privilege"],
  );
}

/** `curl`, `wget` and their like: what is sent, where it is written. */
export function transfer(call: Call): boolean {
  call.outer.run.fetches = true;
  const context = pathContext(call.scope);
  for (const { value } of call.given.flags) {
    if (value === null) continue;
    const text = startOf(value);
    const file = /^@(.*)$|=[@<](.*)$/s.exec(text);
    if (file !== null) {
      call.findings.push(
        holds("uploads", "This sends a file of this machine to a server.", ["Ask the owner to send it."], ["network", "upload"]),
      );
      call.findings.push(...judgePath(literal((file[1] ?? file[2] ?? "").split(";")[0] ?? ""), "read", context));
    }
  }
  const targets = call.operands;
  if (targets.some((target) => target.kind !== "static")) {
    call.findings.push(
      holds(
        "sends-computed",
        "The address holds something known only when it runs, which may send data out.",
        ["Write the address itself."],
        ["network", "upload"],
      ),
    );
  }
  for (const target of targets) {
    if (/^file:/i.test(startOf(target)))
      call.findings.push(...judgePath(literal(startOf(target).replace(/^file:(?:\/\/)?(?:localhost)?/i, "")), "read", context));
  }
  const isLocal =
    targets.length > 0 &&
    targets.every((target) => /^(?:https?:\/\/)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:[/?#]|$)/i.test(valueOf(target) ?? ""));
  call.findings.push(
    isLocal
      ? asks("network-local", "This talks to a server on this machine.", [], ["network"])
      : holds(
          "network",
          "This reaches a server outside this machine.",
          ["Fetch pages with fetch_url, which keeps to the owner's list of hosts."],
          ["network", "download"],
        ),
  );
  return true;
}

/** `nc` and its like: what is piped in goes out, what comes back may be run. */
export function channel(call: Call): boolean {
  call.outer.run.fetches = true;
  return false;
}

/** `scp`, `rsync`: operands with a colon are of another machine. */
export function remoteCopy(call: Call): boolean {
  const context = pathContext(call.scope);
  const isRemote = (field: Field) => /^[^/]*:/.test(startOf(field));
  for (const [index, operand] of call.operands.entries()) {
    if (isRemote(operand)) continue;
    const isTarget = index === call.operands.length - 1 && index > 0;
    call.findings.push(...judgePath(operand, isTarget ? "write" : "search", context));
  }
  if (given(call, "--delete*", "--delete", "--remove-source-files")) {
    for (const operand of call.operands.filter((field) => !isRemote(field)))
      call.findings.push(...judgePath(operand, "delete-tree", context));
  }
  return true;
}

/** A name to look up is itself a message to whoever answers for it. */
export function namesLookup(call: Call): boolean {
  if (call.operands.some((operand) => operand.kind !== "static")) {
    call.findings.push(
      denies(
        "exfiltrates",
        "A name with something in it that is known only when it runs sends that out with the question.",
        ["Write the name itself."],
        ["network", "upload"],
      ),
    );
  }
  return true;
}
