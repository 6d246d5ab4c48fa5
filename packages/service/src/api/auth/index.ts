/** Keys, plans, limits and usage. */
export { openAccess, type Access } from './access.ts'
export { createAuthenticator, type Authenticator } from './authenticator.ts'
export { CONTROL_FILE, openControl } from './control.ts'
export { createGrant, type PlanGrant } from './grant.ts'
export { isKeyText, redactKeys } from './key-text.ts'
export { createKeyRing, type KeyRecord, type KeyRing, type NewKey } from './keys.ts'
export { LIMITS_FILE, openLimiter, type Admission, type Limiter } from './limiter.ts'
export { openConnections, type Connections } from './connections.ts'
export {
  DEFAULT_PLANS,
  openPlanBook,
  PLANS_FILE,
  type Plan,
  type PlanBook,
  type StreamTerms,
} from './plans.ts'
export { deriveKeyText, deriveSecret, readSecrets } from './secrets.ts'
export { createUsageMeter, type UsageMeter } from './usage.ts'
