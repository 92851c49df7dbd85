import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const bash = "/bin/bash";

/** What one candidate did when bash really ran it. */
export interface Recording {
  /** Arguments of each program that was started, its name first, in the order they were started. */
  readonly started: readonly (readonly string[])[];
}

export interface ShellRecorder {
  /** For each candidate, whether `bash -n` takes it. One shell reads them all. */
  parses(candidates: readonly string[]): Promise<boolean[]>;
  /** Runs each candidate in real bash, in a folder of its own, where every program is a stub that writes down its arguments. */
  run(candidates: readonly string[]): Promise<Recording[]>;
  dispose(): void;
}

/** Programs that run others: these are the real ones, behind a stub. */
const runners = ["bash", "sh", "env", "xargs", "timeout", "nohup", "nice", "find"];

/**
 * A folder of stubs as the only PATH. Only for candidates made of the given program names: a program named by its path would
 * really run.
 */
export function createShellRecorder(programs: readonly string[]): ShellRecorder {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-stubs-")));
  const stubs = join(base, "bin");
  const inputs = join(base, "in");
  const records = join(base, "out");
  const places = join(base, "at");
  for (const folder of [stubs, inputs, records, places]) mkdirSync(folder);

  // One write, so that what runs side by side does not mix.
  const record = `printf '%s\\0' "\${0##*/}" "$@" "$(printf '\\1')" >> "$RECORD"`;
  for (const name of programs) stub(name, `#!/bin/sh\n${record}\nexit 0\n`);
  for (const name of runners) {
    const real =
      name === "sh" || name === "bash" ? bash : execFileSync("/bin/sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    stub(name, `#!/bin/sh\n${record}\nexec ${real} "$@"\n`);
  }

  function stub(name: string, text: string): void {
    writeFileSync(join(stubs, name), text);
    chmodSync(join(stubs, name), 0o755);
  }

  function write(candidates: readonly string[]): void {
    for (const folder of [inputs, records, places]) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
    }
    candidates.forEach((text, at) => writeFileSync(join(inputs, String(at)), text));
  }

  /** One bash that goes through the files; resolves to its output. */
  function drive(script: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = spawn(bash, ["--noprofile", "--norc", "-c", script], {
        cwd: base,
        stdio: ["ignore", "pipe", "ignore"],
        env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8", STUBS: stubs, IN: inputs, OUT: records, AT: places, HOME: places },
      });
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
      child.on("error", reject);
      child.on("close", () => resolve(output));
    });
  }

  return {
    async parses(candidates) {
      write(candidates);
      const output = await drive(
        `for ((i = 0; i < ${candidates.length}; i++)); do ${bash} -n "$IN/$i" 2>/dev/null </dev/null; echo "$?"; done`,
      );
      // An unterminated heredoc is a warning: its text is data up to the end.
      return output
        .trim()
        .split("\n")
        .map((line) => line === "0");
    },
    async run(candidates) {
      write(candidates);
      await drive(
        `for ((i = 0; i < ${candidates.length}; i++)); do mkdir "$AT/$i"; cd "$AT/$i"; mkdir src; echo x > src/a.ts; echo x > a.txt; ` +
          `RECORD="$OUT/$i" PATH="$STUBS" /usr/bin/timeout -s KILL 5 ${bash} --noprofile --norc "$IN/$i" </dev/null >/dev/null 2>&1; done`,
      );
      const done = new Set(readdirSync(records));
      return candidates.map((_text, at) => {
        if (!done.has(String(at))) return { started: [] };
        const started: string[][] = [];
        let current: string[] = [];
        for (const item of readFileSync(join(records, String(at)), "utf8")
          .split("\0")
          .slice(0, -1)) {
          if (item === "\u0001") {
            started.push(current);
            current = [];
          } else current.push(item);
        }
        return { started };
      });
    },
    dispose: () => rmSync(base, { recursive: true, force: true }),
  };
}
