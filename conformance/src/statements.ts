import { journey } from './journey.ts'
import { attestation, presence } from './sections/evidence.ts'
import { attention, beacons, conversions, verifiedFunnel } from './sections/tracking.ts'
import { authentication } from './sections/authentication.ts'
import { autonomousPurchase } from './sections/buy.ts'
import { availableWork, orderFunding, orders } from './sections/work.ts'
import { capacity, rateIndex } from './sections/vhh.ts'
import { conventions, errorBody } from './sections/conventions.ts'
import { credential } from './sections/credential.ts'
import { credits } from './sections/credits.ts'
import { errorTable } from './sections/errors.ts'
import { events, webhookRegistration } from './sections/webhooks.ts'
import { limits } from './sections/limits.ts'
import { machineTools } from './sections/mcp.ts'
import { microTasks } from './sections/tasks.ts'
import { payouts, pointsConversion } from './sections/partners.ts'
import { personhoodCheck, walletChallenges } from './sections/personhood.ts'
import { publicKeys } from './sections/jwks.ts'
import { registration } from './sections/registration.ts'
import { serviceManifest } from './sections/discovery.ts'
import { transactionBinding } from './sections/binding.ts'
import { verifySession } from './sections/verify.ts'
import { versioning } from './sections/versioning.ts'
import type { Section } from './statement.ts'

/** The whole specification, in its order, and then the journey of a client that knows nothing else. */
export const sections: readonly Section[] = [
  credential,
  errorBody,
  conventions,
  registration,
  credits,
  verifySession,
  personhoodCheck,
  walletChallenges,
  presence,
  attestation,
  beacons,
  conversions,
  attention,
  verifiedFunnel,
  microTasks,
  webhookRegistration,
  pointsConversion,
  payouts,
  publicKeys,
  availableWork,
  orders,
  orderFunding,
  autonomousPurchase,
  transactionBinding,
  rateIndex,
  capacity,
  serviceManifest,
  machineTools,
  authentication,
  events,
  errorTable,
  limits,
  versioning,
  journey,
]
