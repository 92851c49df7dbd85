export { createClaimCheck } from "./claims/claims.ts";
