import { createHash } from "node:crypto";
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { SandboxState } from "../../contract/providers.ts";
import { ask, statusOf, unavailable, engineMessage } from "./engine-call.ts";
import type { Engine } from "./container-engine.ts";

type ImageState = SandboxState["image"];

/** The image that commands should run in. */
export interface WantedImage {
  readonly name: string;
  readonly source: ImageState["source"];
  /** Folder and hash of the Dockerfile to build, and the packages that it installs; null for images that are pulled. */
  readonly recipe: { readonly folder: string; readonly hash: string; readonly packages: readonly string[] } | null;
}

const shippedName = "lancelot-sandbox:latest";
const recipeLabel = "lancelot.dockerfile";
const DevContainer = z.object({ image: z.string().regex(/^[a-z0-9][a-z0-9._:/@-]{0,254}$/i) });
const Inspected = z.object({
  Size: z.number(),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
});

/**
 * The image the user configured. A repository's dev container counts only with the setting `dev_container`, because repository files
 * are untrusted. Only the image name is read from that file.
 * @throws LancelotError `unavailable`
 */
export function wantedImage(deps: { image: string; workspace: string; configDir: string | null; dataDir: string }): WantedImage {
  if (deps.image === "shipped") {
    const folder = [join(deps.dataDir, "config/sandbox"), ...(deps.configDir === null ? [] : [join(deps.configDir, "sandbox")])].find(
      (at) => existsSync(join(at, "Dockerfile")),
    );
    if (folder === undefined) throw unavailable("The sandbox's Dockerfile (config/sandbox/Dockerfile) is missing.");
    const dockerfile = readFileSync(join(folder, "Dockerfile"));
    const hash = createHash("sha256").update(dockerfile).digest("hex");
    return { name: shippedName, source: "shipped", recipe: { folder, hash, packages: installedPackages(dockerfile.toString("utf8")) } };
  }
  if (deps.image !== "dev_container") return { name: deps.image, source: "named", recipe: null };
  for (const path of [".devcontainer/devcontainer.json", ".devcontainer.json"]) {
    const file = join(deps.workspace, path);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats === undefined || !stats.isFile() || stats.size > 1_000_000) continue;
    const said = DevContainer.safeParse(parseWithComments(readFileSync(file, "utf8")));
    if (said.success) return { name: said.data.image, source: "dev_container", recipe: null };
    throw unavailable(
      `${path} does not specify an image. Build its container and set the image in config/sandbox.yaml (image), or set it to shipped.`,
    );
  }
  throw unavailable(
    "config/sandbox.yaml selects the workspace's dev container, but the workspace has none. Set image to shipped or to an image name.",
  );
}

/** Maximum number of packages that are named. */
const maxPackages = 60;

/** The packages that a Dockerfile installs with apt-get. */
export function installedPackages(dockerfile: string): string[] {
  const commands = dockerfile
    .replaceAll(/\\\r?\n/g, " ")
    .split(/\n|&&|;/)
    .map((command) => command.split(/\s+/));
  const packages = commands.flatMap((words) => {
    const at = words.indexOf("install");
    return at !== -1 && words.slice(0, at).includes("apt-get")
      ? words.slice(at + 1).filter((word) => /^[a-z0-9][a-z0-9.+-]*$/.test(word))
      : [];
  });
  return [...new Set(packages)].slice(0, maxPackages);
}

/** Parses JSON with comments and trailing commas, the format of that file; null when it is invalid. */
function parseWithComments(text: string): unknown {
  const bare = text.replaceAll(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_all, word: string | undefined) => word ?? " ");
  const strict = bare.replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (_all, word: string | undefined) => word ?? "");
  try {
    return JSON.parse(strict);
  } catch {
    return null;
  }
}

export interface FoundImage {
  readonly bytes: number;
  /** True when the Dockerfile has changed since the build. */
  readonly outdated: boolean;
}

/** @returns null when the engine does not have the image. @throws as `ask` */
export async function findImage(engine: Engine, wanted: WantedImage, signal?: AbortSignal): Promise<FoundImage | null> {
  try {
    const said = Inspected.parse(await ask(() => engine.docker.getImage(wanted.name).inspect(), undefined, signal));
    return { bytes: said.Size, outdated: wanted.recipe !== null && said.Config?.Labels?.[recipeLabel] !== wanted.recipe.hash };
  } catch (error) {
    if (statusOf(error) === 404) return null;
    if (error instanceof z.ZodError) throw unavailable("The container engine returned invalid information about the image.", error);
    throw error;
  }
}

const colours = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*[A-Za-z]`, "g");
const Progress = z.object({
  stream: z.string().optional(),
  status: z.string().optional(),
  id: z.string().optional(),
  progress: z.string().optional(),
  error: z.string().optional(),
});

/**
 * Builds the image from its Dockerfile, or pulls it when it has none. `signal` stops the engine's work.
 * @throws LancelotError `unavailable` with the engine's last message
 */
export async function makeImage(engine: Engine, wanted: WantedImage, signal: AbortSignal, said: (line: string) => void): Promise<void> {
  const { docker } = engine;
  const failed = (why: string, cause?: unknown) =>
    unavailable(
      wanted.recipe === null
        ? `The image ${wanted.name} could not be pulled (${why}). Check its name and the network, or set another one in config/sandbox.yaml (image).`
        : `The image could not be built (${why}). Check that the engine can reach its registry, or set an existing image in config/sandbox.yaml (image).`,
      cause,
    );
  let failure: string | null = null;
  try {
    const stream =
      wanted.recipe === null
        ? await docker.pull(wanted.name, { abortSignal: signal })
        : await docker.buildImage(
            { context: wanted.recipe.folder, src: ["Dockerfile"] },
            // rm, forcerm: removes the intermediate containers of failed builds too.
            { t: wanted.name, labels: { [recipeLabel]: wanted.recipe.hash }, rm: true, forcerm: true, abortSignal: signal },
          );
    signal.addEventListener("abort", () => (stream as { destroy?: () => void }).destroy?.(), { once: true });
    let rest = "";
    for await (const bytes of stream) {
      const lines = `${rest}${Buffer.from(bytes as Uint8Array).toString("utf8")}`.split("\n");
      rest = (lines.pop() ?? "").slice(-100_000);
      for (const line of lines) failure = tell(line, said) ?? failure;
    }
    failure = tell(rest, said) ?? failure;
  } catch (error) {
    if (signal.aborted) throw unavailable("The build was stopped.", error);
    throw failed(engineMessage(error), error);
  }
  if (signal.aborted) throw unavailable("The build was stopped.");
  if (failure !== null) throw failed(failure);
}

/** @returns the error message when the line contains one */
function tell(line: string, said: (line: string) => void): string | null {
  if (line.trim() === "") return null;
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return null;
  }
  const progress = Progress.safeParse(parsed);
  if (!progress.success) return null;
  const { stream, status, id, progress: bar, error } = progress.data;
  if (error !== undefined) return error.trim().split("\n").at(-1)?.slice(0, 300) ?? "it failed";
  const words = stream ?? [id, status, bar].filter((word) => word !== undefined).join(" ");
  // Terminal colors from the build's programs.
  const plain = words.replaceAll(colours, "").trim();
  if (plain !== "") said((plain.split("\n").at(-1) ?? "").slice(0, 300));
  return null;
}
