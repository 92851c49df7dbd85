import { expect, it } from "vitest";
import { scoreFor } from "../../../../agent-server/memory/compiler/prompt-candidates.ts";

it.each([
  ["Which port does the crane scheduler of the harbour listen on in the staging environment?", 0.45],
  ["クレーンのポートは何番ですか？", 0.45],
  ["crane port", 0.45],
  ["", 0.45],
  ["Port crane scheduler Rust", 0.4],
  ["Add retries with growing pauses to uploads of nightly backups", 0.22],
  [Array.from({ length: 60 }, (_, index) => `word${String.fromCharCode(97 + (index % 26))}x${String(index)}`).join(" "), 0.15],
])("%s: a find goes in from %d", (objective, score) => {
  expect(scoreFor(objective, 0.45)).toBeCloseTo(score, 1);
});
