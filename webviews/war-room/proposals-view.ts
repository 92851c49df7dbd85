/** Proposals that wait for the user, and the records behind them. */
export interface ProposalsView<P, R> {
  readonly pending: readonly P[];
  readonly records: readonly R[];
}
