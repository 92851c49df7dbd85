import { Readable } from "node:stream";
import type { Duplex } from "node:stream";
import type Dockerode from "dockerode";
import { toBytes } from "../../workspace/workspace.ts";
import { listScript, type Listing, listingEnd, parseListing } from "../copy/copy-listing.ts";
import { tarEnd, tarHeader, tarPadding } from "../copy/tar-writer.ts";
import type { Engine } from "./container-engine.ts";
import { systemLimits } from "./container-spec.ts";
import type { TaskContainers } from "./container-pool.ts";
import type { CopyVolumes } from "./copy-volumes.ts";
import type { MeasuredDisk } from "./disk-usage.ts";
import { ask, EngineSilent, isId } from "./engine-call.ts";
import { createFrames } from "./stream-frames.ts";
import { removeContainer } from "./warm-container.ts";

/** Works on the volumes of a copy in a container that no command enters. */
export interface CopyHelper {
  list(): Promise<Listing>;
  /** Unpacks an archive over the files of the copy. */
  put(archive: AsyncGenerator<Buffer>): Promise<void>;
  /** Removes entries with all that is in them. */
  remove(paths: readonly string[]): Promise<void>;
  /** An archive of files and links, in parts. Folders are packed without their content. */
  pack(paths: readonly string[]): AsyncGenerator<Buffer>;
  readonly disk: MeasuredDisk;
  /** Never throws. */
  close(): Promise<void>;
}

/** Files and folders that a copy may have. */
const maxEntries = 500_000;
const maxListingBytes = 512 * 1024 * 1024;
/** Timeouts, ms: of a start, of a call without any output, and of an upload. */
const startWithin = 20_000;
const silentFor = 60_000;
const putWithin = 10 * 60_000;

const root = "/copy";
const environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"];
const [files, temporary, lists] = [`${root}/files`, `${root}/tmp`, `${root}/list`];

/** Gives the volumes the owner of commands when they are new: $0 is the owner, $1 the permissions of the workspace. */
const prepareScript = `
chmod "$1" ${files} && chown "$0" ${files} && chmod 1777 ${temporary} || exit 1
if ! [ -e ${temporary}/home ] && ! [ -L ${temporary}/home ]; then
  mkdir ${temporary}/home && chown "$0" ${temporary}/home && chmod 700 ${temporary}/home || exit 1
fi
printf ${listingEnd}`;
const removeScript = `cd ${files} || exit 1
xargs -0 rm -rf -- < ${lists}/names
printf ${listingEnd}`;
const packScript = `cd ${files} || exit 1
xargs -0 tar -cf - --no-recursion -- < ${lists}/names`;
const usedScript = `cd ${root} || exit 1
du -skx files tmp
printf ${listingEnd}`;
const freeScript = `stat -f -c '%a %S %t' ${files}
printf ${listingEnd}`;

/** @throws EngineSilent; dockerode's error when the engine rejects a call */
export async function startHelper(
  of: { readonly engine: Engine; readonly task: TaskContainers; readonly volumes: CopyVolumes; readonly mode: number },
  signal?: AbortSignal,
): Promise<CopyHelper> {
  const { engine, task, volumes, mode } = of;
  const volume = (Source: string, Target: string): Dockerode.MountSettings => ({
    ...{ Type: "volume", Source, Target },
    VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: "local", Options: {} } },
  });
  const container = await ask(
    (abortSignal) =>
      engine.docker.createContainer({
        Image: task.image,
        Entrypoint: ["/bin/sh"],
        // It ends with the connection to this host.
        Cmd: ["-c", "read -r end"],
        Healthcheck: { Test: ["NONE"] },
        User: "0:0",
        WorkingDir: "/",
        Env: environment,
        Labels: task.labels,
        OpenStdin: true,
        StdinOnce: true,
        AttachStdin: true,
        AttachStdout: true,
        abortSignal,
        HostConfig: {
          AutoRemove: true,
          NetworkMode: "none",
          // The last volume has no name, so the engine removes it with the container.
          Mounts: [volume(volumes.files, files), volume(volumes.temporary, temporary), volume("", lists)],
          ReadonlyRootfs: true,
          CapDrop: ["ALL"],
          // Commands may close their folders, and files belong to their user.
          CapAdd: ["CHOWN", "DAC_OVERRIDE", "FOWNER"],
          SecurityOpt: ["no-new-privileges"],
          PidsLimit: 64,
          Ulimits: systemLimits(engine),
          LogConfig: { Type: "none", Config: {} },
          ...(engine.remapped ? { UsernsMode: "host" } : {}),
        },
      }),
    startWithin,
    signal,
  );
  let held: Duplex | null = null;
  const close = async (): Promise<void> => {
    held?.destroy();
    await removeContainer(container);
  };

  async function* output(script: string, args: readonly string[] = []): AsyncGenerator<Buffer> {
    const exec = await ask((abortSignal) =>
      container.exec({
        Cmd: ["/bin/sh", "-c", script, ...args],
        User: "0:0",
        WorkingDir: "/",
        Env: environment,
        AttachStdout: true,
        abortSignal,
      }),
    );
    if (!isId(exec.id)) throw new EngineSilent("The container engine returned an invalid response.");
    yield* stdoutOf(await ask(() => exec.start({ hijack: true, stdin: false }), startWithin));
  }

  async function say(script: string, args?: readonly string[]): Promise<Buffer> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of output(script, args)) {
      bytes += part.length;
      if (bytes > maxListingBytes) throw new EngineSilent("The container engine sent more than the limit.");
      parts.push(part);
    }
    const said = Buffer.concat(parts);
    if (!said.subarray(-listingEnd.length).equals(Buffer.from(listingEnd)))
      throw new EngineSilent("The image lacks a program that copies need (find, stat, xargs, tar, rm, du), or the container ended.");
    return said;
  }

  async function put(archive: AsyncGenerator<Buffer>, path: string): Promise<void> {
    const body = Readable.from(archive, { objectMode: false });
    const broken = new Promise<never>((_resolve, reject) => body.once("error", reject));
    try {
      await Promise.race([broken, ask((abortSignal) => container.putArchive(body, { path, abortSignal }), putWithin)]);
    } finally {
      broken.catch(() => undefined);
      body.destroy();
    }
  }

  async function* namesArchive(paths: readonly string[]): AsyncGenerator<Buffer> {
    const names = Buffer.concat(paths.flatMap((path) => [toBytes(`./${path}`), Buffer.alloc(1)]));
    yield tarHeader({ path: "names", kind: "file", mode: 0o600, size: names.length, mtime: 0, uid: 0, gid: 0 });
    yield names;
    yield await Promise.resolve(Buffer.concat([tarPadding(names.length), tarEnd]));
  }

  const used = async (): Promise<number> =>
    [...(await say(usedScript)).toString("latin1").matchAll(/^(\d+)\s/gm)].reduce(
      (sum, [, kilobytes]) => sum + Number(kilobytes) * 1024,
      0,
    );

  try {
    held = await ask(
      () => container.attach({ stream: true, stdin: true, stdout: true, hijack: true }) as unknown as Promise<Duplex>,
      startWithin,
      signal,
    );
    held.on("error", () => undefined);
    held.resume();
    await ask((abortSignal) => container.start({ abortSignal }), startWithin, signal);
    await say(prepareScript, [task.user, (mode & 0o7777).toString(8)]);
    const atFirst = used();
    atFirst.catch(() => undefined);
    return {
      list: async () => parseListing(await say(listScript, [files]), maxEntries),
      put: (archive) => put(archive, files),
      async remove(paths) {
        if (paths.length === 0) return;
        await put(namesArchive(paths), lists);
        await say(removeScript);
      },
      async *pack(paths) {
        await put(namesArchive(paths), lists);
        yield* output(packScript);
      },
      disk: {
        everyMs: 1_000,
        async free() {
          const [, blocks, size, type = ""] = /^(\d+) (\d+) ([0-9a-f]+)$/m.exec((await say(freeScript)).toString("latin1")) ?? [];
          return { bytes: Number(blocks) * Number(size), type: Number.parseInt(type, 16) };
        },
        added: async () => (await used()) - (await atFirst),
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The standard output in a stream of the engine. @throws EngineSilent where nothing comes for too long */
async function* stdoutOf(stream: Duplex): AsyncGenerator<Buffer> {
  const parts: Buffer[] = [];
  const frames = createFrames((name, bytes) => {
    if (name === "stdout") parts.push(Buffer.from(bytes));
  });
  const giveUp = () => void stream.destroy(new EngineSilent("The container engine stopped answering."));
  let clock = setTimeout(giveUp, silentFor);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      clearTimeout(clock);
      frames(chunk);
      yield* parts.splice(0);
      clock = setTimeout(giveUp, silentFor);
    }
  } finally {
    clearTimeout(clock);
    stream.destroy();
  }
}
