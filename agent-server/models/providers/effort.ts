/** The effort level nearest to a token budget, for providers with levels instead of budgets. */
export function effortOf(budgetTokens: number): "low" | "medium" | "high" {
  if (budgetTokens < 4000) return "low";
  return budgetTokens < 12_000 ? "medium" : "high";
}
