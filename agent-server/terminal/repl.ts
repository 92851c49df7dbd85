import { LancelotError } from "../contract/errors.ts";
import { err, out, terminal } from "./output.ts";
import { answerApproval } from "./chat.ts";
import { createPrompts } from "./prompts.ts";
import { openSession } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

/** `lancelot repl "<command>"`: runs ls, cat, grep, find, cp or mv in the workspace, without a shell and under full governance. */
export async function repl(line: CommandLine): Promise<number> {
  const [command, ...more] = line.words;
  if (command === undefined || more.length > 0)
    throw new LancelotError("invalid_params", 'Pass the command as one quoted argument, for example: lancelot repl "ls -la src"');
  const prompts = createPrompts(terminal.isInteractive);
  const session = await openSession(line, line.workspace, true);
  const asked = new Set<string>();
  const failed = Promise.withResolvers<never>();
  const stop = session.events.listen((event) => {
    if (event.topic !== "approval" || event.payload.status !== "pending" || asked.has(event.payload.id)) return;
    asked.add(event.payload.id);
    void answerApproval(session, line, prompts, err, event.payload).catch(failed.reject);
  });
  try {
    const result = await Promise.race([session.call("repl.run", { command }), failed.promise]);
    if (line.json) out.json(result);
    else if (result.output !== "") out.write(result.output.endsWith("\n") ? result.output : `${result.output}\n`);
    return 0;
  } finally {
    stop();
    prompts.close();
    await session.close();
  }
}
