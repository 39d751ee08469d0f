import { journey } from './journey.ts'
import { approvals } from './sections/services/approvals.ts'
import { attestation, presence } from './sections/services/evidence.ts'
import { attentionReport, verifiedFunnel } from './sections/services/attention.ts'
import { attention, beacons, conversions } from './sections/services/tracking.ts'
import { authentication } from './sections/interface/authentication.ts'
import { autonomousPurchase } from './sections/services/purchases.ts'
import { availableWork, orderFunding, orders } from './sections/services/orders.ts'
import { capacity, rateIndex } from './sections/services/vhh.ts'
import { conventions, errorBody } from './sections/interface/conventions.ts'
import { credential } from './sections/services/credential.ts'
import { credits } from './sections/services/credits.ts'
import { errorTable } from './sections/interface/errors.ts'
import { events, webhookRegistration } from './sections/interface/webhooks.ts'
import { forgingPrices } from './sections/interface/forging.ts'
import { lists } from './sections/services/lists.ts'
import { limits } from './sections/interface/limits.ts'
import { machineTools } from './sections/interface/mcp.ts'
import { microTasks } from './sections/services/microtasks.ts'
import { payouts, pointsConversion } from './sections/services/partners.ts'
import { personhoodCheck, walletChallenges } from './sections/services/personhood.ts'
import { publicKeys } from './sections/interface/jwks.ts'
import { questions } from './sections/services/questions.ts'
import { registration } from './sections/interface/registration.ts'
import { siteverifyProtocol } from './sections/services/siteverify.ts'
import { discoveryDocuments } from './sections/interface/documents.ts'
import { serviceManifest } from './sections/interface/discovery.ts'
import { transactionBinding } from './sections/services/binding.ts'
import { verifySession } from './sections/services/verify.ts'
import { versioning } from './sections/interface/versioning.ts'
import type { Section } from './statement.ts'

/** The whole specification, in its order, and then the journey of a client that knows nothing else. */
export const sections: readonly Section[] = [
  credential,
  errorBody,
  conventions,
  registration,
  credits,
  verifySession,
  siteverifyProtocol,
  personhoodCheck,
  walletChallenges,
  presence,
  attestation,
  beacons,
  conversions,
  attention,
  verifiedFunnel,
  attentionReport,
  microTasks,
  webhookRegistration,
  pointsConversion,
  payouts,
  publicKeys,
  forgingPrices,
  availableWork,
  orders,
  orderFunding,
  autonomousPurchase,
  questions,
  transactionBinding,
  rateIndex,
  capacity,
  serviceManifest,
  discoveryDocuments,
  machineTools,
  lists,
  approvals,
  authentication,
  events,
  errorTable,
  limits,
  versioning,
  journey,
]
