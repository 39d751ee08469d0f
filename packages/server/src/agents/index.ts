export { makeAuthenticator } from './authenticate.ts'
export { addKeylessAgent, findKeylessCaller } from './keyless-agent.ts'
export { ensurePlatformAgents, platformAgentId } from './platform-agent.ts'
export type { ReadHoldings } from './operator-read.ts'
export { pages } from './pages.ts'
export { addConfirmedAgent, networkTagOf } from './register.ts'
export { operatorRoutes, routes } from './routes.ts'
export { listUsableKeys } from './keys/store.ts'
export { revokeAllKeys } from './keys/revoke-all.ts'
export { listOrigins } from './origins/store.ts'
export { deleteOldMailTokens } from './store.ts'
export { findEmailConfirmed as isEmailConfirmed, findRegistrationOrigin } from './store.ts'
export {
  findAttestationSettings,
  findConfirmedContactEmail,
  findMode,
  findName,
  findPolicy,
  findSite,
  listConfirmedAgentsByEmail,
} from './store.ts'
