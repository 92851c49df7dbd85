// Words on the terminal while the machine is set up. Runs on Node 20 with nothing installed.
import { spawn } from "node:child_process";

/** A line that says what is being done now. */
export function say(text) {
  process.stderr.write(`\u001b[2m[lancelot]\u001b[0m ${text}\n`);
}

/** Ends with a sentence the reader can act on, not a stack. */
export class SetupError extends Error {}

/**
 * Runs a program, showing what it prints.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, quiet?: boolean, failure?: string }} [options] quiet: shown only when it fails
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ["ignore", options.quiet ? "pipe" : 2, options.quiet ? "pipe" : 2],
      shell: process.platform === "win32" && command === "npm",
    });
    let output = "";
    child.stdout?.on("data", (chunk) => (output += chunk));
    child.stderr?.on("data", (chunk) => (output += chunk));
    child.on("error", (error) => reject(new SetupError(`${command} could not be started (${error.message}). ${options.failure ?? ""}`)));
    child.on("close", (code) => {
      if (code === 0) resolve(output);
      else
        reject(
          new SetupError(
            `${options.failure ?? `${command} ${args.join(" ")} failed.`} (exit ${code})\n${output.split("\n").slice(-20).join("\n")}`,
          ),
        );
    });
  });
}

/** True when the program can be started. */
export async function has(command, args = ["--version"]) {
  return run(command, args, { quiet: true }).then(
    () => true,
    () => false,
  );
}
