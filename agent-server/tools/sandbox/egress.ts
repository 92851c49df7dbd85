export interface EgressGrant {
  readonly socketPath: string;
  proxyUrl(address: string): string;
  revoke(): Promise<void>;
}
export interface EgressProxy {
  grant(): Promise<EgressGrant>;
}
