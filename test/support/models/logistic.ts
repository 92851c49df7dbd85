import { softmax } from "../../../agent-server/models/tasks/intent-classifier.ts";

/**
 * Rows of a multinomial logistic regression: full batches, Adam, a penalty on large weights. Two classes give one row that counts.
 * Always the same for the same input.
 */
export function trainSoftmax(
  features: readonly Float32Array[],
  classes: readonly number[],
  count: number,
  { penalty, rounds, weightOf = () => 1 }: { penalty: number; rounds: number; weightOf?: (index: number) => number },
): number[][] {
  const width = features[0]?.length ?? 0;
  const rows = Array.from({ length: count }, () => new Float64Array(width));
  const first = rows.map(() => new Float64Array(width));
  const second = rows.map(() => new Float64Array(width));
  const total = features.reduce((sum, _, index) => sum + weightOf(index), 0);
  for (let round = 1; round <= rounds; round++) {
    const gradients = rows.map((row) => row.map((value, index) => (index === width - 1 ? 0 : (penalty * value) / total)));
    for (const [sample, vector] of features.entries()) {
      const shares = softmax(rows.map((row) => product(row, vector)));
      for (const [kind, gradient] of gradients.entries()) {
        const error = (((shares[kind] ?? 0) - (classes[sample] === kind ? 1 : 0)) * weightOf(sample)) / total;
        for (let index = 0; index < width; index++) gradient[index] = (gradient[index] ?? 0) + error * (vector[index] ?? 0);
      }
    }
    for (const [kind, row] of rows.entries())
      for (let index = 0; index < width; index++) {
        const slope = gradients[kind]?.[index] ?? 0;
        const mean = 0.9 * (first[kind]?.[index] ?? 0) + 0.1 * slope;
        const spread = 0.999 * (second[kind]?.[index] ?? 0) + 0.001 * slope * slope;
        first[kind]?.fill(mean, index, index + 1);
        second[kind]?.fill(spread, index, index + 1);
        row[index] = (row[index] ?? 0) - (0.05 * (mean / (1 - 0.9 ** round))) / (Math.sqrt(spread / (1 - 0.999 ** round)) + 1e-8);
      }
  }
  return rows.map((row) => [...row]);
}

function product(row: Float64Array, vector: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < vector.length; index++) sum += (row[index] ?? 0) * (vector[index] ?? 0);
  return sum;
}
