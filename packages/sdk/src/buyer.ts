import type { PaymentRequirement } from '@pohf/protocol'
import { verifyCredential, type Claims } from '@pohf/verify'
import type { Client } from './client.ts'
import { PohfError } from './error.ts'
import { chooseTerms, paymentHeader, typedDataOf, usdOf, type Limits, type TypedData } from './payment.ts'
import { PurchaseError } from './purchase-error.ts'
import { isInconclusive, outcomeOfPayment, outcomeOfRead, type PurchaseOutcome } from './purchase-outcome.ts'
import { exchange, PohfUnreachable, type Answer, type Transport } from './send.ts'

/** A signer of EIP-712 typed data. An account of viem can be passed as it is. */
export type Wallet = {
  readonly address: string
  readonly signTypedData: (data: TypedData) => Promise<string>
}

/** Where to buy, and how long to wait. */
export type ServiceSettings = {
  readonly baseUrl: string
  /** With a key the purchase belongs to your agent too; without one it is the wallet's alone. */
  readonly apiKey?: string | undefined
  /** The issuer in credentials, where it is not `baseUrl`. */
  readonly issuer?: string | undefined
  /** How long to wait for a payment to settle before the purchase is reported as open. Default: 180 s. */
  readonly waitMs?: number | undefined
  /** For one request. Default: 60 s: the service may wait for a block or two before it answers. */
  readonly timeoutMs?: number | undefined
  readonly fetch?: typeof fetch | undefined
  /** For tests of your own: how to wait between attempts. */
  readonly wait?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined
}
export type BuyerSettings = ServiceSettings & Limits & { readonly wallet: Wallet }

export type Progress = { readonly purchaseId: string } & (
  | {
      readonly step: 'quoted'
      readonly amountUsd: string
      readonly network: string
      readonly payTo: string
    }
  /** Keep the purchase id now: from here on money can move. */
  | { readonly step: 'signed'; readonly validBefore: Date }
  | { readonly step: 'sent'; readonly attempt: number }
  | { readonly step: 'waiting'; readonly seconds: number; readonly why: string }
  | { readonly step: 'delivered'; readonly transaction: string }
)

export type BuyOptions = {
  /** Called at every step and awaited: what it stores at `signed` is stored before the payment is sent. */
  readonly onProgress?: ((progress: Progress) => void | Promise<void>) | undefined
  readonly signal?: AbortSignal | undefined
}

type Delivery = Awaited<ReturnType<Client['work']['taskBuy']>>
/** What was bought: the service's answer, and the claims of its credential, which was verified. */
export type PurchaseResult = Delivery & { readonly claims: Claims }

/** A question that was paid, and the receipt of its payment. */
export type PaidQuestion = Awaited<ReturnType<Client['questions']['pay']>>

export type Buyer = {
  /** Buys one unit. It signs once; after that it only repeats what it has sent. */
  readonly buy: (workflowId: string, options?: BuyOptions) => Promise<PurchaseResult>
  /** Pays a question that was asked with the same key. It signs once, as `buy` does. */
  readonly payQuestion: (questionId: string, options?: BuyOptions) => Promise<PaidQuestion>
  /** Finds out how an open purchase ended. It signs nothing. */
  readonly resume: (purchaseId: string, options?: BuyOptions) => Promise<PurchaseResult>
}

const waitSecondsMax = 30
/** The service accepts no authorization that ends sooner than this. */
const settleMs = 20_000
const purchaseIdMax = 512
const attemptsMax = 1_000

type Challenge = { readonly accepts?: unknown; readonly purchase_id?: unknown }
const isRequirement = (entry: unknown): entry is PaymentRequirement => {
  if (typeof entry !== 'object' || entry === null) return false
  const { network, asset, payTo, maxAmountRequired, extra } = entry as Record<string, unknown>
  return (
    [network, asset, payTo, maxAmountRequired].every((field) => typeof field === 'string') &&
    typeof extra === 'object' &&
    extra !== null
  )
}

const readChallenge = (body: unknown) => {
  const { accepts, purchase_id: purchaseId } = (
    typeof body === 'object' && body !== null ? body : {}
  ) as Challenge
  const offers = Array.isArray(accepts) ? accepts.filter(isRequirement) : []
  if (typeof purchaseId !== 'string' || purchaseId.length > purchaseIdMax || offers.length === 0)
    throw new PurchaseError('challenge_malformed', 'The challenge has no offer or no purchase id.')
  return { offers, purchaseId }
}

/** Ends early when the signal is aborted. */
const delay = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    signal?.addEventListener('abort', end, { once: true })
  })

type Service = {
  readonly settings: ServiceSettings
  readonly base: string
  readonly transport: Pick<Transport, 'fetch' | 'timeoutMs'>
  readonly waitMsMax: number
}

const serviceOf = (settings: ServiceSettings): Service => ({
  settings,
  base: settings.baseUrl.replace(/\/+$/, ''),
  transport: { fetch: settings.fetch ?? fetch, timeoutMs: settings.timeoutMs ?? 60_000 },
  waitMsMax: settings.waitMs ?? 180_000,
})

type PurchaseRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}
const request = (
  { settings, transport }: Service,
  { method, url, headers }: PurchaseRequest,
  signal: AbortSignal | undefined,
): Promise<Answer> =>
  exchange(transport, {
    method,
    url,
    headers: {
      accept: 'application/json',
      ...(settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` }),
      ...headers,
    },
    body: undefined,
    signal,
  })

const verifyToken = (token: string, { settings, base }: Service) =>
  verifyCredential(token, {
    issuer: settings.issuer ?? base,
    fetch: settings.fetch,
    policy: {
      kinds: ['purchase'],
      minAssurance: 'low',
      minQuality: 0,
      status: 'if-present',
      // A test network sells nothing else, and the claims say so.
      allowTest: true,
    },
  })

/** Throws a TypeError for an issuer that no credential can have. It sends nothing: an empty token needs no key. */
const requireIssuer = async (service: Service): Promise<void> => {
  await verifyToken('', service)
}

const verifyDelivery = async (
  service: Service,
  answer: unknown,
  purchaseId: string,
): Promise<PurchaseResult> => {
  const delivery = answer as Delivery
  let why = 'it is of another purchase'
  try {
    const result = await verifyToken(delivery.pohf_jwt, service)
    if (result.ok && result.claims.purchase && purchaseId.startsWith(result.claims.purchase.id))
      return { ...delivery, claims: result.claims }
    if (!result.ok) why = `${result.reason}. ${result.message}`
  } catch (error) {
    // Whatever fails here, for example on an answer without a delivery: the caller must learn that the unit was paid.
    why = String(error)
  }
  throw new PurchaseError(
    'credential_refused',
    `The unit was paid and delivered, but its credential is refused: ${why}`,
    { charged: 'yes', purchaseId, cause: delivery },
  )
}

type PaidDelivery = { readonly payment: { readonly transaction: string } }
type PolledPurchase<Result extends PaidDelivery> = {
  readonly purchaseId: string
  readonly send: (signal: AbortSignal | undefined) => Promise<Answer>
  readonly outcomeOf: (answer: Answer, purchaseId: string) => PurchaseOutcome
  /** After this the same request cannot succeed any more, unless something was sent before. */
  readonly usefulUntilMs: number
  /** Checks what was delivered. */
  readonly finish: (delivery: unknown) => Promise<Result>
}

/** Repeats one request until its outcome is final. Bounded by time, and by count in case the clock does not advance. */
const pollUntilFinal = async <Result extends PaidDelivery>(
  service: Service,
  purchase: PolledPurchase<Result>,
  { onProgress, signal }: BuyOptions,
): Promise<Result> => {
  const { purchaseId } = purchase
  const endsAt = Date.now() + service.waitMsMax
  let isOpen = false
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    await onProgress?.({ step: 'sent', purchaseId, attempt })
    const answer = await purchase.send(signal).catch(() => undefined)
    const outcome: PurchaseOutcome = answer
      ? purchase.outcomeOf(answer, purchaseId)
      : { kind: 'open', why: 'no answer came' }
    if (outcome.kind === 'failed' && isOpen && isInconclusive(outcome.error)) break
    if (outcome.kind === 'failed') throw outcome.error
    if (outcome.kind === 'delivered') {
      const bought = await purchase.finish(outcome.delivery)
      await onProgress?.({ step: 'delivered', purchaseId, transaction: bought.payment.transaction })
      return bought
    }
    isOpen ||= outcome.kind === 'open'
    const isLate = Date.now() >= (isOpen ? endsAt : Math.min(endsAt, purchase.usefulUntilMs))
    if (isLate && outcome.kind === 'retryable' && !isOpen)
      throw new PurchaseError('refused', outcome.error.message, { purchaseId, cause: outcome.error })
    if (isLate || signal?.aborted) break
    const seconds = Math.min(waitSecondsMax, answer?.retryAfterSeconds ?? 2 ** Math.min(attempt - 1, 3))
    const why = outcome.kind === 'open' ? outcome.why : outcome.error.code
    await onProgress?.({ step: 'waiting', purchaseId, seconds, why })
    const waitMs = Math.max(0, Math.min(seconds * 1_000, endsAt - Date.now()))
    await (service.settings.wait ?? delay)(waitMs, signal)
  }
  throw new PurchaseError(
    'open',
    'The payment was sent and its end is not known yet. Do not buy again: resume this purchase.',
    { charged: 'unknown', purchaseId },
  )
}

const resumeWith = async (
  service: Service,
  purchaseId: string,
  options: BuyOptions = {},
): Promise<PurchaseResult> => {
  await requireIssuer(service)
  const url = `${service.base}/api/agent/purchases/${encodeURIComponent(purchaseId)}`
  const purchase = {
    purchaseId,
    send: (signal: AbortSignal | undefined) => request(service, { method: 'GET', url }, signal),
    outcomeOf: outcomeOfRead,
    usefulUntilMs: Date.now() + service.waitMsMax,
    finish: (answer: unknown) => verifyDelivery(service, answer, purchaseId),
  }
  return pollUntilFinal(service, purchase, options)
}

/** Finds out how an open purchase ended. It needs no wallet: the purchase id is the proof. */
export const resumePurchase = (
  settings: ServiceSettings,
  purchaseId: string,
  options?: BuyOptions,
): Promise<PurchaseResult> => resumeWith(serviceOf(settings), purchaseId, options)

/** A buyer with a wallet and a price limit. It stores nothing: `onProgress` reports what the caller should store. */
export const createBuyer = (settings: BuyerSettings): Buyer => {
  const service = serviceOf(settings)
  const method = settings.apiKey === undefined ? 'GET' : 'POST'

  /** Reads the terms, signs once, and sends the payment until its outcome is final. */
  const payAt = async <Result extends PaidDelivery>(
    path: string,
    options: BuyOptions,
    finish: (delivery: unknown, purchaseId: string) => Promise<Result>,
  ): Promise<Result> => {
    const { onProgress, signal } = options
    const url = `${service.base}${path}`
    const challengeAnswer = await request(service, { method, url }, signal).catch((error: unknown) => {
      throw signal?.aborted
        ? error
        : new PohfUnreachable(`No answer from ${new URL(url).host}.`, { cause: error })
    })
    if (challengeAnswer.status !== 402) {
      const error = new PohfError(challengeAnswer.status, challengeAnswer.body)
      throw new PurchaseError('refused', error.message, { cause: error })
    }
    const { offers, purchaseId } = readChallenge(challengeAnswer.body)
    const terms = chooseTerms(offers, settings, purchaseId)
    const { network, payTo } = terms
    await onProgress?.({ step: 'quoted', purchaseId, amountUsd: usdOf(terms.amountMicro), network, payTo })

    const atSeconds = Math.floor(Date.now() / 1_000)
    const data = typedDataOf(terms, { purchaseId, from: settings.wallet.address, atSeconds })
    const signature = await settings.wallet.signTypedData(data).catch((error: unknown) => {
      throw new PurchaseError('not_signed', 'The wallet did not sign.', { purchaseId, cause: error })
    })
    const endsAtMs = Number(data.message.validBefore) * 1_000
    await onProgress?.({ step: 'signed', purchaseId, validBefore: new Date(endsAtMs) })

    const headers = { 'x-payment': paymentHeader(terms, data, signature), 'x-purchase-id': purchaseId }
    const purchase = {
      purchaseId,
      send: (stop: AbortSignal | undefined) => request(service, { method, url, headers }, stop),
      outcomeOf: outcomeOfPayment,
      usefulUntilMs: endsAtMs - settleMs,
      finish: (delivery: unknown) => finish(delivery, purchaseId),
    }
    return pollUntilFinal(service, purchase, options)
  }
  return {
    buy: async (workflowId, options = {}) => {
      await requireIssuer(service)
      const path = `/api/agent/tasks/${encodeURIComponent(workflowId)}/buy`
      return payAt(path, options, (answer, purchaseId) => verifyDelivery(service, answer, purchaseId))
    },
    payQuestion: async (questionId, options = {}) => {
      if (settings.apiKey === undefined)
        throw new TypeError('apiKey must be the key that asked the question.')
      const path = `/api/agents/questions/${encodeURIComponent(questionId)}/pay`
      return payAt(path, options, async (question) => question as PaidQuestion)
    },
    resume: (purchaseId, options) => resumeWith(service, purchaseId, options),
  }
}
