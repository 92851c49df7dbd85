// A process that holds no model and answers the host with what is no answer. Which garbage: the last word of its request.
import { Socket } from "node:net";

const pipe = new Socket({ fd: 3 });
const garbage: Record<string, string> = {
  words: "llama_decode: failed to find a KV slot\n",
  shape: '{"type":"done","id":"none"}\n',
  unknown: '{"type":"shutdown"}\n',
  bytes: "\u0000\u0007\ufffd\n",
  endless: "x".repeat(65_000_000),
};
pipe.setEncoding("utf8").on("data", (text: string) => {
  for (const line of text.split("\n").filter((part) => part !== "")) {
    const message = JSON.parse(line) as { type: string; turns?: { text: string }[] };
    if (message.type === "load")
      pipe.write(`${JSON.stringify({ type: "loaded", contextSize: 512, gpuLayers: 0, gpu: null, memoryBytes: 1 })}\n`);
    if (message.type === "generate") pipe.write(garbage[message.turns?.at(-1)?.text ?? ""] ?? "?\n");
  }
});
pipe.on("close", () => process.exit(0));
