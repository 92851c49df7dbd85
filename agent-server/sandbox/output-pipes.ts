import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** One way from a command to here. */
export interface OutputPipe {
  readonly stream: Socket;
  /** Given to the command; closed here with `release`. */
  readonly writeEnd: number;
}

export interface OutputPipes {
  readonly stdout: OutputPipe;
  readonly stderr: OutputPipe;
  /** Closes the writing ends here, so that the streams end with the command. */
  release(): void;
}

/** Where commands of one place get their pipes from. */
export interface PipeMaker {
  open(): Promise<OutputPipes>;
  /** Takes away what was made ready and not used. */
  close(): Promise<void>;
}

/**
 * Pipes for what a command says. Node's own are sockets, and a program that opens /dev/stdout or /dev/stderr by name cannot open
 * a socket. What is not read stays in the pipe and holds the command up: nothing grows here. The next pair is made while a command
 * runs, so that none waits for it.
 * @param folder for the names they have until they are open.
 */
export function createPipeMaker(folder: string): PipeMaker {
  let next: Promise<readonly string[]> | null = null;
  const make = async (): Promise<readonly string[]> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const names = ["out", "err"].map((end) => join(folder, `${process.pid}-pipe-${randomBytes(8).toString("hex")}.${end}`));
    await run("mkfifo", ["-m", "600", ...names]);
    return names;
  };
  return {
    async open() {
      const ready = next;
      next = null;
      const names = await (ready ?? make()).catch(() => make());
      const pipes = await openPipes(names).catch(async () => openPipes(await make()));
      next ??= make();
      next.catch(() => {});
      return pipes;
    },
    async close() {
      const names = (await next?.catch(() => [])) ?? [];
      next = null;
      for (const name of names) rmSync(name, { force: true });
    },
  };
}

async function openPipes(names: readonly string[]): Promise<OutputPipes> {
  const descriptors: number[] = [];
  try {
    for (const name of names) {
      descriptors.push(openSync(name, constants.O_RDONLY | constants.O_NONBLOCK));
      descriptors.push(openSync(name, constants.O_WRONLY));
    }
  } catch (error) {
    for (const descriptor of descriptors) closeSync(descriptor);
    throw error;
  } finally {
    for (const name of names) rmSync(name, { force: true });
  }
  const [outRead = -1, outWrite = -1, errRead = -1, errWrite = -1] = descriptors;
  const pipe = (read: number, writeEnd: number): OutputPipe => ({
    stream: new Socket({ fd: read, readable: true, writable: false }),
    writeEnd,
  });
  let released = false;
  return {
    stdout: pipe(outRead, outWrite),
    stderr: pipe(errRead, errWrite),
    release() {
      if (released) return;
      released = true;
      closeSync(outWrite);
      closeSync(errWrite);
    },
  };
}
