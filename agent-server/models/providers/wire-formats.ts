import * as z from "zod";
import { isRecord } from "./is-record.ts";

// What is read of the providers' streams. Servers of a format omit fields or send null for them; a field of another type is garbage.

const text = z.string().nullish();
/** Longer ones would come back with each request and in each receipt. */
const label = z.string().max(1000).nullish();
const position = z.int().min(0).max(1_000_000);
const tokens = z.number().min(0).max(1e12).nullish();

/** An object whose `type` selects the fields that are checked; other types pass. */
function byType(known: Readonly<Record<string, z.ZodType>>): z.ZodType {
  return z.looseObject({ type: z.string().max(200) }).check(({ value, issues }) => {
    const schema = Object.hasOwn(known, value.type) ? known[value.type] : undefined;
    const parsed = schema?.safeParse(value);
    if (parsed?.error !== undefined)
      issues.push(...parsed.error.issues.map((issue) => ({ ...issue, input: value }) as (typeof issues)[number]));
  });
}

const anthropicUsage = z
  .looseObject({
    input_tokens: tokens,
    output_tokens: tokens,
    cache_read_input_tokens: tokens,
    cache_creation_input_tokens: tokens,
    cache_creation: z.looseObject({ ephemeral_1h_input_tokens: tokens }).nullish(),
    output_tokens_details: z.looseObject({ thinking_tokens: tokens }).nullish(),
  })
  .nullish();

/** Events of the Messages API. */
export const anthropicItem = byType({
  message_start: z.looseObject({ message: z.looseObject({ usage: anthropicUsage }) }),
  content_block_start: z.looseObject({
    index: position,
    content_block: byType({
      text: z.looseObject({ text }),
      thinking: z.looseObject({ thinking: text, signature: text }),
      redacted_thinking: z.looseObject({ data: z.string() }),
      tool_use: z.looseObject({ id: label, name: label }),
    }),
  }),
  content_block_delta: z.looseObject({
    index: position,
    delta: byType({
      text_delta: z.looseObject({ text: z.string() }),
      thinking_delta: z.looseObject({ thinking: z.string() }),
      signature_delta: z.looseObject({ signature: z.string() }),
      input_json_delta: z.looseObject({ partial_json: z.string() }),
    }),
  }),
  message_delta: z.looseObject({ delta: z.looseObject({ stop_reason: label }), usage: anthropicUsage }),
});

/** Chunks of chat completions. Several servers send arguments as an object. */
export const chatItem = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        finish_reason: label,
        delta: z
          .looseObject({
            content: text,
            refusal: text,
            reasoning_content: text,
            reasoning: text,
            tool_calls: z
              .array(
                z.looseObject({
                  index: position.nullish(),
                  id: label,
                  function: z
                    .looseObject({ name: label, arguments: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish() })
                    .nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
      }),
    )
    .nullish(),
  usage: z
    .looseObject({
      prompt_tokens: tokens,
      completion_tokens: tokens,
      total_tokens: tokens,
      prompt_tokens_details: z.looseObject({ cached_tokens: tokens, cache_write_tokens: tokens }).nullish(),
      completion_tokens_details: z.looseObject({ reasoning_tokens: tokens }).nullish(),
    })
    .nullish(),
});

const texts = z.array(z.looseObject({ text })).nullish();
const outputItem = byType({
  message: z.looseObject({ content: z.array(z.looseObject({ text, refusal: text })).nullish() }),
  function_call: z.looseObject({ call_id: label, name: label, arguments: text }),
  reasoning: z.looseObject({ id: label, summary: texts, content: texts, encrypted_content: text }),
});
const response = z.looseObject({
  output: z.array(outputItem).nullish(),
  incomplete_details: z.looseObject({ reason: label }).nullish(),
  error: z.looseObject({ code: label, message: text }).nullish(),
  usage: z
    .looseObject({
      input_tokens: tokens,
      output_tokens: tokens,
      total_tokens: tokens,
      input_tokens_details: z
        .looseObject({
          cached_tokens: tokens,
          cache_write_tokens: tokens,
          cache_write_tokens_details: z.looseObject({ ttl_12h_tokens: tokens }).nullish(),
        })
        .nullish(),
      output_tokens_details: z.looseObject({ reasoning_tokens: tokens }).nullish(),
    })
    .nullish(),
});
const outputEvent = z.looseObject({ output_index: position, item: outputItem });
const delta = z.looseObject({ delta: z.string() });
const ending = z.looseObject({ response });

/** Events of the Responses API. */
export const responsesItem = byType({
  "response.output_item.added": outputEvent,
  "response.output_item.done": outputEvent,
  "response.output_text.delta": delta,
  "response.refusal.delta": delta,
  "response.reasoning_summary_part.added": z.looseObject({ summary_index: position }),
  "response.reasoning_summary_text.delta": delta,
  "response.reasoning_text.delta": delta,
  "response.function_call_arguments.delta": z.looseObject({ output_index: position, delta: z.string() }),
  "response.completed": ending,
  "response.incomplete": ending,
  "response.failed": ending,
  error: z.looseObject({ code: label, message: text }),
});

/** Chunks of streamGenerateContent. */
export const geminiItem = z.looseObject({
  candidates: z
    .array(
      z.looseObject({
        finishReason: label,
        continuationToken: text,
        content: z
          .looseObject({
            parts: z
              .array(
                z.looseObject({
                  text,
                  thought: z.boolean().nullish(),
                  thoughtSignature: text,
                  functionCall: z.looseObject({ id: label, name: label, args: z.custom(isRecord).nullish() }).nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
      }),
    )
    .nullish(),
  promptFeedback: z.looseObject({ blockReason: label }).nullish(),
  usageMetadata: z
    .looseObject({
      promptTokenCount: tokens,
      candidatesTokenCount: tokens,
      thoughtsTokenCount: tokens,
      toolUsePromptTokenCount: tokens,
      cachedContentTokenCount: tokens,
    })
    .nullish(),
});
