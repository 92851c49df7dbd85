/** A problem in a user's file, with its line (from 1). */
export interface ConfigIssue {
  readonly severity: "critical" | "warning";
  readonly line: number;
  readonly message: string;
}
