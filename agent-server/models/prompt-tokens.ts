import type { ModelRequest } from "./request.ts";

/** A low estimate: English and code have 3.5 to 4.5 bytes per token, Chinese 3 to 4. */
const bytesPerToken = 3;
const imageTokens = 1_600;

/** A high estimate of the tokens in a text of that many bytes. */
export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

/** A quick, high estimate of a request's tokens, which a cap reserves for it. */
export function promptTokens({ system, messages, tools, responseSchema }: ModelRequest): number {
  let images = 0;
  const texts: string[] = [system, JSON.stringify(tools), JSON.stringify(responseSchema ?? "")];
  for (const message of messages)
    if (message.role === "tool") texts.push(...message.results.map(({ name, text }) => `${name} ${text}`));
    else
      for (const part of message.content)
        if (part.type === "image") images += 1;
        else texts.push(part.type === "tool_call" ? `${part.name} ${JSON.stringify(part.args)}` : part.text);
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return tokensOf(bytes) + images * imageTokens + (messages.length + tools.length) * 8;
}
