import type { PaymentRequirement } from '@pohf/protocol'
import { verifyCredential, type Claims } from '@pohf/verify'
import type { Client } from './client.ts'
import { PohfError } from './error.ts'
import { chooseTerms, paymentHeader, typedDataOf, usdOf, type Limits, type TypedData } from './payment.ts'
import { PurchaseError } from './purchase-error.ts'
import { exchange, PohfUnreachable, type Answer } from './send.ts'

/** Whatever signs EIP-712 typed data. An account of viem fits as it is. */
export type Wallet = {
  readonly address: string
  readonly signTypedData: (data: TypedData) => Promise<string>
}

/** Where to buy, and how long to wait. */
export type ServiceSettings = {
  readonly baseUrl: string
  /** With a key the purchase belongs to your agent too; without one it is the wallet's alone. */
  readonly apiKey?: string | undefined
  /** How the service writes itself in credentials, where that is not `baseUrl`. */
  readonly issuer?: string | undefined
  /** How long to wait for a payment to settle before the purchase is handed back as open. Default: 180 s. */
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
  /** Told of every step, and waited for: what is stored at `signed` is stored before the payment is sent. */
  readonly onProgress?: ((progress: Progress) => void | Promise<void>) | undefined
  readonly signal?: AbortSignal | undefined
}

type Delivery = Awaited<ReturnType<Client['work']['taskBuy']>>
/** What was bought: the service's answer, and the claims of its credential, which was verified. */
export type Bought = Delivery & { readonly claims: Claims }

export type Buyer = {
  /** Buys one unit. It signs once; after that it only repeats what it has sent. */
  readonly buy: (workflowId: string, options?: BuyOptions) => Promise<Bought>
  /** Finds out how a purchase ended that was left open. It signs nothing. */
  readonly resume: (purchaseId: string, options?: BuyOptions) => Promise<Bought>
}

const waitSecondsMax = 30
/** The service takes no authorization that ends sooner than this. */
const settleMs = 20_000
const purchaseIdMax = 512
const answersMax = 1_000

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

/** What one answer says about a purchase. */
type PurchaseOutcome =
  | { readonly is: 'delivered'; readonly delivery: unknown }
  | { readonly is: 'open'; readonly why: string }
  /** Nothing was charged, and asking again may help. */
  | { readonly is: 'later'; readonly error: PohfError }
  | { readonly is: 'over'; readonly error: PurchaseError }

type PurchaseStatus = { readonly status?: unknown; readonly reason?: unknown; readonly delivery?: unknown }

/** A purchase that the service has written down, by its state. */
const outcomeOfStatus = (body: unknown, purchaseId: string): PurchaseOutcome => {
  const { status, reason, delivery } = (
    typeof body === 'object' && body !== null ? body : {}
  ) as PurchaseStatus
  if (delivery !== undefined) return { is: 'delivered', delivery }
  const because = typeof reason === 'string' ? ` ${reason}.` : ''
  if (status === 'void') {
    const error = new PurchaseError('void', `The payment was not made.${because}`, { purchaseId })
    return { is: 'over', error }
  }
  if (status === 'refund_due' || status === 'refunded') {
    const words = status === 'refunded' ? 'was given back' : 'will be given back'
    const message = `Paid, but nothing could be delivered: the payment ${words}.${because}`
    return { is: 'over', error: new PurchaseError('refunded', message, { charged: 'yes', purchaseId }) }
  }
  return { is: 'open', why: `the payment is ${typeof status === 'string' ? status : 'under way'}` }
}

const outcomeOfError = ({ status, body }: Answer, purchaseId: string): PurchaseOutcome => {
  const error = new PohfError(status, body)
  if (error.code === 'chain_unreachable' || status === 429) return { is: 'later', error }
  // Whatever broke there may have broken after the payment was sent.
  if (status >= 500) return { is: 'open', why: `the service answered ${status}` }
  const code = status === 404 ? 'not_found' : 'refused'
  return { is: 'over', error: new PurchaseError(code, error.message, { purchaseId, cause: error }) }
}

/** The service answers 402 only where nothing was sent; another refusal does not say how an earlier try ended. */
const isDoubtful = ({ code, cause }: PurchaseError): boolean =>
  code === 'refused' && cause instanceof PohfError && cause.status !== 402 && cause.code !== 'out_of_stock'

/** The answer to a payment. */
const outcomeOfPayment = (answer: Answer, purchaseId: string): PurchaseOutcome => {
  if (answer.status === 200) return { is: 'delivered', delivery: answer.body }
  return answer.status === 202 ? outcomeOfStatus(answer.body, purchaseId) : outcomeOfError(answer, purchaseId)
}

/** The answer to the question how a purchase stands. */
const outcomeOfRead = (answer: Answer, purchaseId: string): PurchaseOutcome =>
  answer.status === 200 ? outcomeOfStatus(answer.body, purchaseId) : outcomeOfError(answer, purchaseId)

/** Ends early for who has stopped. */
const delay = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    signal?.addEventListener('abort', end, { once: true })
  })

type Service = ReturnType<typeof serviceOf>

const serviceOf = (settings: ServiceSettings) => {
  const base = settings.baseUrl.replace(/\/+$/, '')
  const transport = { fetch: settings.fetch ?? fetch, timeoutMs: settings.timeoutMs ?? 60_000 }
  const waitMsMax = settings.waitMs ?? 180_000
  const wait = settings.wait ?? delay

  const ask = (
    method: 'GET' | 'POST',
    url: string,
    given: { readonly headers?: Readonly<Record<string, string>>; readonly signal: AbortSignal | undefined },
  ) =>
    exchange(transport, {
      method,
      url,
      headers: {
        accept: 'application/json',
        ...(settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` }),
        ...given.headers,
      },
      body: undefined,
      signal: given.signal,
    })

  const verifyDelivery = async (delivery: Delivery, purchaseId: string): Promise<Bought> => {
    const result = await verifyCredential(delivery.pohf_jwt, {
      issuer: settings.issuer ?? base,
      policy: {
        kinds: ['purchase'],
        minAssurance: 'low',
        minQuality: 0,
        status: 'if-present',
        // A test network sells nothing else, and the claims say so.
        allowTest: true,
      },
    })
    const { purchase } = result.ok ? result.claims : {}
    const isOurs = purchase !== undefined && purchaseId.startsWith(purchase.id)
    if (result.ok && isOurs) return { ...delivery, claims: result.claims }
    const why = result.ok ? 'it is of another purchase' : `${result.reason}. ${result.message}`
    throw new PurchaseError(
      'credential_refused',
      `The unit was paid and delivered, but its credential is refused: ${why}`,
      { charged: 'yes', purchaseId, cause: delivery },
    )
  }

  /** Repeats one question until its answer is final. Bounded by time, and by count should the clock stand still. */
  const pollUntilFinal = async (
    purchase: {
      readonly purchaseId: string
      readonly question: (signal: AbortSignal | undefined) => Promise<Answer>
      readonly judge: (answer: Answer, purchaseId: string) => PurchaseOutcome
      /** After this the same question cannot help any more, unless something was sent before. */
      readonly usefulUntilMs: number
    },
    { onProgress, signal }: BuyOptions,
  ): Promise<Bought> => {
    const { purchaseId } = purchase
    const endsAt = Date.now() + waitMsMax
    let isOpen = false
    for (let attempt = 1; attempt <= answersMax; attempt += 1) {
      await onProgress?.({ step: 'sent', purchaseId, attempt })
      const answer = await purchase.question(signal).catch(() => undefined)
      const verdict: PurchaseOutcome = answer
        ? purchase.judge(answer, purchaseId)
        : { is: 'open', why: 'no answer came' }
      if (verdict.is === 'over' && isOpen && isDoubtful(verdict.error)) break
      if (verdict.is === 'over') throw verdict.error
      if (verdict.is === 'delivered') {
        const bought = await verifyDelivery(verdict.delivery as Delivery, purchaseId)
        await onProgress?.({ step: 'delivered', purchaseId, transaction: bought.payment.transaction })
        return bought
      }
      isOpen ||= verdict.is === 'open'
      const isLate = Date.now() >= (isOpen ? endsAt : Math.min(endsAt, purchase.usefulUntilMs))
      if (isLate && verdict.is === 'later' && !isOpen)
        throw new PurchaseError('refused', verdict.error.message, { purchaseId, cause: verdict.error })
      if (isLate || signal?.aborted) break
      const seconds = Math.min(waitSecondsMax, answer?.retryAfterSeconds ?? 2 ** Math.min(attempt - 1, 3))
      const why = verdict.is === 'open' ? verdict.why : verdict.error.code
      await onProgress?.({ step: 'waiting', purchaseId, seconds, why })
      await wait(Math.max(0, Math.min(seconds * 1_000, endsAt - Date.now())), signal)
    }
    throw new PurchaseError(
      'open',
      'The payment was sent and its end is not known yet. Do not buy again: resume this purchase.',
      { charged: 'unknown', purchaseId },
    )
  }
  return { base, waitMsMax, ask, untilFinal: pollUntilFinal }
}

const resumeWith = (
  { base, ask, untilFinal: pollUntilFinal, waitMsMax }: Service,
  purchaseId: string,
  options: BuyOptions = {},
): Promise<Bought> =>
  pollUntilFinal(
    {
      purchaseId,
      question: (signal) =>
        ask('GET', `${base}/api/agent/purchases/${encodeURIComponent(purchaseId)}`, { signal }),
      judge: outcomeOfRead,
      usefulUntilMs: Date.now() + waitMsMax,
    },
    options,
  )

/** Finds out how a purchase ended that was left open. It needs no wallet: the purchase id is the proof. */
export const resumePurchase = (
  settings: ServiceSettings,
  purchaseId: string,
  options?: BuyOptions,
): Promise<Bought> => resumeWith(serviceOf(settings), purchaseId, options)

/** A buyer with a wallet and a cap. It keeps nothing: what must outlive it is told by `onProgress`. */
export const createBuyer = (settings: BuyerSettings): Buyer => {
  const service = serviceOf(settings)
  const method = settings.apiKey === undefined ? 'GET' : 'POST'

  const buy: Buyer['buy'] = async (workflowId, options = {}) => {
    const { onProgress, signal } = options
    const url = `${service.base}/api/agent/tasks/${encodeURIComponent(workflowId)}/buy`
    const challengeAnswer = await service.ask(method, url, { signal }).catch((error: unknown) => {
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
    const question = (stop: AbortSignal | undefined) => service.ask(method, url, { headers, signal: stop })
    const usefulUntilMs = endsAtMs - settleMs
    return service.untilFinal({ purchaseId, question, judge: outcomeOfPayment, usefulUntilMs }, options)
  }
  return { buy, resume: (purchaseId, options) => resumeWith(service, purchaseId, options) }
}
