/** The level of thinking nearest to a budget of tokens, for the providers that know levels. */
export function effortOf(budgetTokens: number): "low" | "medium" | "high" {
  if (budgetTokens < 4000) return "low";
  return budgetTokens < 12_000 ? "medium" : "high";
}
