import { LancelotError } from "../contract/errors.ts";
import type { LocalModel } from "../contract/models.ts";
import { err, out, terminal } from "./output.ts";
import { openSession, type Session } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

/** `lancelot models`, `models download`, `models choose`. */
export async function models(line: CommandLine): Promise<number> {
  const [action = "list", provider, model] = line.words;
  const session = await openSession(line, null, false);
  try {
    if (action === "download" && provider === "intent") {
      const { intent } = await session.call("models.local.download", { only: "intent" });
      if (intent?.status !== "ready")
        throw new LancelotError("unavailable", intent?.problem ?? "The intent classifier could not be downloaded.");
      out.write("The intent classifier is ready.\n");
    } else if (action === "download") {
      await downloadLocal(session);
    } else if (action === "choose") {
      if (provider === undefined)
        throw new LancelotError("invalid_params", "Enter a provider, for example: lancelot models choose anthropic");
      const chosen = await session.call("models.choose", { provider, ...(model === undefined ? {} : { model }) });
      out.write(`Active model: ${chosen.provider}/${chosen.model}\n`);
    } else if (action === "list") {
      const { items, providers } = await session.call("models.list", {});
      for (const state of providers) out.write(`${state.active ? "*" : " "} ${state.provider.padEnd(16)} ${state.problem ?? "ready"}\n`);
      for (const item of items) out.write(`${item.active ? "*" : " "} ${item.provider}/${item.model}\n`);
    } else {
      throw new LancelotError(
        "invalid_params",
        "Usage: lancelot models, lancelot models download [intent], or lancelot models choose PROVIDER [MODEL].",
      );
    }
    return 0;
  } finally {
    await session.close();
  }
}

/** Downloads the local model and its runtime, with progress on stderr. @throws LancelotError when the download fails. */
export async function downloadLocal(session: Session): Promise<void> {
  const before = await session.call("models.local", {});
  if (before.status === "ready" || before.status === "loaded") {
    err.write(`${before.name} is already downloaded.\n`);
    return;
  }
  let shown = -1;
  const stop = session.events.listen((event) => {
    if (event.topic !== "localModel") return;
    const percent = percentOf(event.payload);
    if (percent === shown) return;
    shown = percent;
    const text = `${event.payload.name}: ${percent} % of ${megabytes(event.payload.totalBytes)} MB`;
    if (terminal.showsProgress) err.progress(text);
    else if (percent % 10 === 0) err.write(`${text}\n`);
  });
  try {
    const after = await session.call("models.local.download", {});
    if (terminal.showsProgress) err.write("\n");
    if (after.status !== "ready" && after.status !== "loaded")
      throw new LancelotError("unavailable", after.problem ?? "The local model could not be downloaded.", {
        data: { what: "local model", nextStep: "Try again." },
      });
    err.write(`${after.name} is ready.\n`);
  } finally {
    stop();
  }
}

export function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6);
}

function percentOf(model: LocalModel): number {
  return model.totalBytes === 0 ? 0 : Math.floor((100 * model.doneBytes) / model.totalBytes);
}
