import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** An output stream of a command. */
export interface OutputPipe {
  readonly stream: Socket;
  /** Passed to the command; closed here by `release`. */
  readonly writeEnd: number;
}

export interface OutputPipes {
  readonly stdout: OutputPipe;
  readonly stderr: OutputPipe;
  /** Closes this process's write ends, so that the streams end with the command. */
  release(): void;
}

/** Creates the output pipes of one sandbox. */
export interface PipeMaker {
  open(): Promise<OutputPipes>;
  /** Discards the prepared pipes that were not used. */
  close(): Promise<void>;
}

/**
 * Named pipes for a command's output. Node's own are sockets, which programs cannot open by name as /dev/stdout or /dev/stderr. Unread
 * output stays in the pipe and blocks the command, so memory use is bounded. The next pair is prepared while a command runs, to
 * avoid a delay.
 * @param folder for the pipes' names until they are open
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
