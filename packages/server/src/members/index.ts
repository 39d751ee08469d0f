export { eraseAgain, type Erasure } from './people/erase-person.ts'
export {
  listOwnPasskeys,
  recordAssertion,
  verifyAssertion,
  type VerifiedAssertion,
} from './people/assertion.ts'
export type { PasskeyVerifier } from './people/passkeys.ts'
export { issuerMessages } from './pages/issuer-messages.ts'
export { issuerPart, type OfferedIssuer } from './pages/issuer-part.ts'
export { languageSwitch } from './pages/language-switch.ts'
export { pages } from './pages/pages.ts'
export { humanCode } from './membership/human-code.ts'
export { resolveLockedMember, resolveMember } from './membership/resolve-member.ts'
export { operatorRoutes, routes } from './routes.ts'
export { authenticate, requirePerson } from './people/login.ts'
export { isAttentionChallenge, originOf, type Member } from './rules.ts'
export {
  deleteExpiredTokens,
  deleteOldProofs,
  listPeopleCreated,
  voidSignIns,
  withdrawProofsOf,
} from './people/store.ts'
export type { ValidProof } from './people/valid-proof.ts'
export { languageOf, type Language } from './pages/messages.ts'
export { listEligibleMemberships } from './membership/workers.ts'
export { inviteMember } from './membership/create.ts'
export { withdrawProof } from './people/proof-finish.ts'
export { findCompany, listMemberProofs, type Company } from './people/company.ts'
export {
  listConsentedMembers,
  listMemberships,
  listRequiredIssuers,
  updateMemberRequiredIssuer,
} from './membership/store.ts'
