import { hasAnyFlag, type ProgramCall } from "./program-call.ts";
import { type Field, literal, startOf, valueOf } from "./shell-fields.ts";
import { asks, denies, type Finding, alwaysAsks } from "./command-findings.ts";
import { isGuarded, judgePath } from "./command-paths.ts";
import type { PathContext } from "./types.ts";
import { pathContext, type Scope } from "./command-scope.ts";

const harmlessGitSetting =
  /^(?:color\.[\w.]+|core\.(?:quotepath|abbrev|ignorecase)|log\.\w+|diff\.(?:noprefix|renames|context|algorithm|colormoved|mnemonicprefix)|status\.\w+|column\.\w+|advice\.\w+|grep\.\w+|blame\.\w+|core\.pager|pager\.\w+)=(?:[\w.-]*)$/i;

export function git(call: ProgramCall): boolean {
  const context = pathContext(call.scope);
  for (const { name, value } of call.parsed.flags.slice(0, settingsEnd(call))) {
    if (name !== "-c" || value === null) continue;
    const setting = valueOf(value);
    if (setting !== null && !setting.includes("=")) continue;
    if (
      setting === null ||
      !harmlessGitSetting.test(setting) ||
      /pager/i.test(setting) === !/pager\w*(?:\.\w+)?=(?:cat|false|true|less)?$/i.test(setting)
    ) {
      call.findings.push(
        alwaysAsks(
          "git.setting",
          "A setting passed with -c can make git run other commands.",
          ["Omit the -c option."],
          ["execute", "settings"],
        ),
      );
    }
    const alias = /^alias\.[^=]*=!?(.*)$/s.exec(setting ?? "");
    if (alias?.[1] !== undefined) call.judgeShell(literal(setting?.includes("=!") === true ? alias[1] : `git ${alias[1]}`), "git alias");
  }
  const sub = valueOf(call.parsed.operands[0]);
  for (const field of call.args) {
    const word = startOf(field);
    if (!word.startsWith("-")) break;
    if (
      !/^(?:-C.*|-c.*|--no-pager|-P|--version|-v|--help|-h|--no-optional-locks|--literal-pathspecs|--glob-pathspecs|--icase-pathspecs|--no-replace-objects|--git-dir.*|--work-tree.*)$/.test(
        word,
      )
    ) {
      call.findings.push(alwaysAsks("git.global", `The global git flag ${word} changes how git works.`, ["Omit the flag."], ["settings"]));
    }
    if (word === "-C" || word === "-c") break;
  }
  for (const { name, value } of call.parsed.flags) {
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
  if (sub === "checkout" && !hasAnyFlag(call, "-b", "-B", "--orphan")) {
    const named = call.operands.some((operand) => operand.kind !== "static" || isExisting(operand.value, context));
    if (named || call.args.some((field) => valueOf(field) === "--")) {
      call.findings.push(
        alwaysAsks(
          "git.discard-file",
          "Discards changes to files.",
          ["Check git diff first.", "Stash changes with git stash push."],
          ["delete", "history"],
        ),
      );
    }
  }
  if (sub === "clean" && call.base?.finding.verdict !== "allow" && call.operands.length === 0 && isGuarded(".", context)) {
    call.findings.push({
      ...alwaysAsks(
        "git.clean-all",
        "Deletes every untracked file of the workspace.",
        ["Check git clean -n first."],
        ["delete", "destroy"],
      ),
      risk: "critical",
    });
  }
  return false;
}

/** After `switch`, -c names a new branch; before it, and with every other subcommand, a setting. */
function settingsEnd(call: ProgramCall): number {
  const [sub] = call.parsed.operands;
  if (sub === undefined || valueOf(sub) !== "switch") return call.parsed.flags.length;
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

export function container(call: ProgramCall): boolean {
  for (const { name, value } of call.parsed.flags) {
    const text = value === null ? "" : value.kind === "static" ? value.value : startOf(value);
    if (mountFlags.has(name)) {
      const source = name === "--mount" ? (/(?:^|,)(?:source|src)=([^,]*)/.exec(text)?.[1] ?? "") : (text.split(":")[0] ?? "");
      if (/docker\.sock|podman\.sock|containerd\.sock/.test(text))
        call.findings.push(escapes("hands the container the engine that runs every other one"));
      else if (value?.kind === "dynamic" && source === text)
        call.findings.push(alwaysAsks("container-mount", "Mounts a folder known only at run time.", ["Name the folder."], ["container"]));
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
          ? alwaysAsks(
              "container-host-network",
              "The container uses this machine's network.",
              ["Omit the network flag."],
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
    `The command ${what}, which lets it escape its isolation.`,
    ["Run the container without that flag, and mount only the workspace."],
    ["container", "privilege"],
  );
}

/** `curl`, `wget` and similar programs: sent data and written files. */
export function transfer(call: ProgramCall): boolean {
  call.outer.run.fetches = true;
  const context = pathContext(call.scope);
  for (const { value } of call.parsed.flags) {
    if (value === null) continue;
    const text = startOf(value);
    const file = /^@(.*)$|=[@<](.*)$/s.exec(text);
    if (file !== null) {
      call.findings.push(
        alwaysAsks("uploads", "Uploads a file of this machine to a server.", ["Ask the owner to send it."], ["network", "upload"]),
      );
      call.findings.push(...judgePath(literal((file[1] ?? file[2] ?? "").split(";")[0] ?? ""), "read", context));
    }
  }
  const targets = call.operands;
  if (targets.some((target) => target.kind !== "static")) {
    call.findings.push(
      alwaysAsks(
        "sends-computed",
        "The address contains a value known only at run time, which may send data out.",
        ["Write the full address."],
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
      ? asks("network-local", "Connects to a server on this machine.", [], ["network"])
      : alwaysAsks(
          "network",
          "Connects to a server outside this machine.",
          ["Fetch pages with fetch_url, which uses the allowlist."],
          ["network", "download"],
        ),
  );
  return true;
}

/** `nc` and similar programs: piped input is sent, and received data may be run. */
export function channel(call: ProgramCall): boolean {
  call.outer.run.fetches = true;
  return false;
}

/** `scp`, `rsync`: operands with a colon are on another machine. */
export function remoteCopy(call: ProgramCall): boolean {
  const context = pathContext(call.scope);
  const isRemote = (field: Field) => /^[^/]*:/.test(startOf(field));
  for (const [index, operand] of call.operands.entries()) {
    if (isRemote(operand)) continue;
    const isTarget = index === call.operands.length - 1 && index > 0;
    call.findings.push(...judgePath(operand, isTarget ? "write" : "search", context));
  }
  if (hasAnyFlag(call, "--delete*", "--delete", "--remove-source-files")) {
    for (const operand of call.operands.filter((field) => !isRemote(field)))
      call.findings.push(...judgePath(operand, "delete-tree", context));
  }
  return true;
}

/** A name lookup sends the name to its name server. */
export function namesLookup(call: ProgramCall): boolean {
  if (call.operands.some((operand) => operand.kind !== "static")) {
    call.findings.push(
      denies(
        "exfiltrates",
        "Looks up a name with a value known only at run time, which sends the value out.",
        ["Write the full name."],
        ["network", "upload"],
      ),
    );
  }
  return true;
}
