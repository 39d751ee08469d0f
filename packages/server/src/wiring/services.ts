import { specification } from '@pohf/protocol'
import * as accounts from '../accounts/index.ts'
import * as agents from '../agents/index.ts'
import * as credentials from '../credentials/index.ts'
import * as credits from '../credits/index.ts'
import * as evidence from '../evidence/index.ts'
import { makeIssuers, makeOwnIssuers, readIssuersFile, type OutsideIssuer } from '../issuers/index.ts'
import * as members from '../members/index.ts'
import * as operators from '../operators/index.ts'
import * as payments from '../payments/index.ts'
import type { Browser, ConsoleRequest } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeProgress } from '../platform/queue/progress.ts'
import type { PasskeyVerifier } from '../platform/sign-in/passkey.ts'
import { makeRequestLog } from '../requests/index.ts'
import { makeRoots } from '../roots/index.ts'
import { makeKeyless } from '../trust/index.ts'
import * as work from '../work/index.ts'
import { readBranding } from '../website/index.ts'
import * as signing from '../signing/index.ts'
import { erasureOf } from './erasure.ts'
import { makeMinting } from './minting.ts'
import { findPayoutRootOf, makePurchaseSettlement, unitDepsOf } from './settlement.ts'

/** Who a request comes from, for each kind of caller in the table. */
const makeAuthenticate = (
  ctx: Ctx,
  authenticator: ReturnType<typeof agents.makeAuthenticator>,
  operatorBearers: ReturnType<typeof operators.makeBearers>,
  keyless: ReturnType<typeof makeKeyless>,
) => ({
  agent: authenticator.authenticate,
  keyless,
  orderToken: keyless.authenticateOrderToken,
  operator: (key: string) => operators.authenticate(ctx, operatorBearers, key),
  operatorSession: (request: ConsoleRequest) => operators.authenticateSession(ctx, request),
  member: (browser: Browser) => members.authenticate(ctx, browser),
  console: (request: ConsoleRequest) => accounts.authenticate(ctx, members.originOf(ctx.config), request),
})

const orderBody = specification.find((row) => row.id === 'work.orders.create')?.body

/** Orders without a key: agents and prices come from the modules that own them. */
const keylessOf = (ctx: Ctx, signer: signing.Signer) =>
  makeKeyless({
    ctx,
    signer,
    addAgent: (tx, agent) => agents.addKeylessAgent(tx, ctx, agent),
    findCaller: agents.findKeylessCaller,
    quote: async (body) => {
      const order = orderBody?.safeParse(body)
      if (!order?.success) return undefined
      const { taskType, quantity } = order.data
      const totalUsdCents = await work.quoteOrder(ctx, order.data)
      return totalUsdCents === undefined ? undefined : { taskType, quantity, totalUsdCents }
    },
  })

/** Verifies passkeys of people who only sign in: the assurance of a passkey matters for members alone. */
const signInVerifierOf = (loadDeviceTrust: evidence.LoadDeviceTrust): PasskeyVerifier => {
  const passkeys = evidence.makePasskeyVerifier(loadDeviceTrust)
  return {
    verifyNew: passkeys.verifyNew,
    verifyKnown: async (credential, known, expected) => {
      const passkey = { ...known, assurance: 'software' as const, synced: false, model: undefined }
      return (await passkeys.verifyKnown(credential, passkey, expected))?.counter
    },
  }
}

/** What both listeners of the api process share. */
export const buildServices = (ctx: Ctx, outsideIssuers: readonly OutsideIssuer[]) => {
  const consoleBearers = accounts.makeBearers(ctx)
  const operatorBearers = operators.makeBearers(ctx)
  const authenticator = agents.makeAuthenticator(ctx, consoleBearers)
  const signer = signing.connectSigner(ctx)
  const keyless = keylessOf(ctx, signer)
  const minting = makeMinting(ctx, signer)
  const { statusIndexes, mintSigner } = minting
  const cardProvider = payments.makeCardProvider(ctx)
  const chainSettlement = payments.makeSettlement(ctx)
  const unitDeps = unitDepsOf(ctx)
  const roots = makeRoots(ctx)
  const { origin } = members.originOf(ctx.config)
  const loadDeviceTrust = evidence.makeLoadDeviceTrust(ctx)
  return {
    ctx,
    issuers: makeIssuers([...readIssuersFile(ctx, origin), ...outsideIssuers], makeOwnIssuers(ctx, origin)),
    authenticator,
    consoleBearers,
    operatorBearers,
    keyless,
    authenticate: makeAuthenticate(ctx, authenticator, operatorBearers, keyless),
    signer,
    ...minting,
    roots,
    findPayoutRoot: findPayoutRootOf(ctx),
    forging: credentials.readForgingFile(ctx.config.FORGING_FILE),
    branding: readBranding(ctx.config.BRANDING_FILE),
    verifyProgress: makeProgress(),
    requestLog: makeRequestLog({ ctx, isPaused: minting.restoreGuard.isPending }),
    cardProvider,
    payments: payments.makePayments(ctx, cardProvider),
    credits: credits.makeCredits(ctx, {
      isEmailConfirmed: agents.isEmailConfirmed,
      findRegistrationOrigin: agents.findRegistrationOrigin,
    }),
    chainSettlement,
    purchaseSettlement: makePurchaseSettlement(ctx, {
      settlement: chainSettlement,
      mint: credentials.makePurchaseMint({ ctx, signer, mintSigner, statusIndexes, roots }),
    }),
    loadDeviceTrust,
    passkeyVerifier: signInVerifierOf(loadDeviceTrust),
    findRecordingOwner: work.makeFindRecordingOwner(unitDeps),
    scoring: evidence.makeScoring(ctx, work.findWorkHistory),
    erasure: erasureOf(ctx),
  }
}
export type Services = ReturnType<typeof buildServices>
