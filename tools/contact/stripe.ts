import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { apiVersion, asStripeError } from '../../packages/server/src/payments/card/client.ts'
import type { CardEvent } from '../../packages/server/src/payments/card/facts.ts'
import {
  CardProviderError,
  makeCardProvider,
  type CardProvider,
} from '../../packages/server/src/payments/card/provider.ts'
import { listen } from './listen.ts'
import { clientContextOf, StepFailure, type Input } from './steps.ts'

/** The smallest amount that Stripe takes. */
const amountUsdCents = 50n
const portDefault = 4_242
const bodyCharsMax = 1_000_000
const webhookPath = '/api/payments/card/webhook'

const adviceOf = (status: number | undefined): string => {
  if (status === 401) return 'Create a test key in the dashboard of Stripe and set STRIPE_SECRET_KEY to it.'
  if (status === 403)
    return 'Give the restricted key the rights that docs/operate/operations.md lists under Card payments.'
  return status === undefined
    ? 'Check that this machine reaches STRIPE_API_BASE over HTTPS.'
    : 'Look up the request in the dashboard of Stripe, under Developers, Logs.'
}

/** Runs a call of the card provider's client, and says in plain words why it failed. */
const ask = async <T>(call: Promise<T>): Promise<T> => {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof CardProviderError)) throw error
    const known = asStripeError(error.cause)
    const status = known?.statusCode
    const reason =
      status === 401
        ? 'Stripe does not know the key of STRIPE_SECRET_KEY (status 401)'
        : status === undefined
          ? 'Stripe was not reached'
          : `Stripe refused the request: status ${status}, ${known?.code ?? known?.type ?? 'no code'}`
    throw new StepFailure(reason, adviceOf(status), status === 401 ? {} : { cause: error })
  }
}

const openProvider = ({ config, step }: Input): Promise<CardProvider> =>
  step('The settings hold a key of the test mode and the secret of a webhook', (note) => {
    const provider = makeCardProvider(clientContextOf(config))
    if (!provider)
      throw new StepFailure(
        'STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set',
        'Create an account at Stripe, take its test key (sk_test_… or rk_test_…), and the secret that `stripe listen` prints.',
      )
    if (provider.livemode)
      throw new StepFailure(
        'STRIPE_SECRET_KEY is a live key, and this command pays and refunds',
        'Use the key of the test mode, sk_test_… or rk_test_….',
      )
    note(`API version ${apiVersion}, at ${config.STRIPE_API_BASE}`)
    return provider
  })

type PaidEvent = { readonly promise: Promise<CardEvent>; readonly stop: () => Promise<void> }

/** Waits for the event that this session was paid. Every body is read by the code that reads the service's webhooks. */
const awaitPaidEvent = async (
  provider: CardProvider,
  sessionId: string,
  options: { readonly port: number; readonly waitSeconds: number },
): Promise<PaidEvent> => {
  const { promise, resolve, reject } = Promise.withResolvers<CardEvent>()
  const receive = async (body: string, signature: string | undefined): Promise<number> => {
    const event = await provider.readSignedEvent(body, signature)
    if (event === undefined) {
      reject(
        new StepFailure(
          'an event arrived whose signature does not fit STRIPE_WEBHOOK_SECRET',
          'Set STRIPE_WEBHOOK_SECRET to the secret that `stripe listen` prints, or to that of the endpoint that sends here.',
        ),
      )
      return 400
    }
    if (event !== 'not ours' && event.fact.kind === 'session' && event.fact.sessionId === sessionId)
      if (event.fact.state === 'paid') resolve(event)
    return 200
  }
  const server = createServer((request, response) => {
    const signature = request.headers['stripe-signature']
    const answer = async () => {
      const body = request.url === webhookPath && request.method === 'POST' ? await text(request) : undefined
      if (body === undefined || body.length > bodyCharsMax) return 404
      return receive(body, typeof signature === 'string' ? signature : undefined)
    }
    answer().then(
      (status) => response.writeHead(status).end(),
      () => response.writeHead(400).end(),
    )
  })
  const stop = await listen(server, options.port)
  const timer = setTimeout(
    () =>
      reject(
        new StepFailure(
          `no event arrived within ${options.waitSeconds} seconds`,
          'Pay the page while `stripe listen` runs. Its output shows each event and what this command answered.',
        ),
      ),
    options.waitSeconds * 1_000,
  )
  // The step awaits it later; until then a rejection is not unhandled.
  promise.catch(() => undefined)
  return {
    promise,
    stop: async () => {
      clearTimeout(timer)
      await stop()
    },
  }
}

const createAndRead = async ({ step }: Input, provider: CardProvider) => {
  const checkoutId = `contact_${randomUUID()}`
  const session = await step('Stripe creates a checkout page over 0.50 USD', async (note) => {
    const created = await ask(
      provider.createSession({
        checkoutId,
        amountUsdCents,
        description: 'First contact of PoHF',
        idempotencyKey: randomUUID(),
      }),
    )
    note(created.sessionId)
    return created
  })
  await step('Stripe gives the same page back, unpaid, with its amount and our id', async () => {
    const found = await ask(provider.findSession(session.sessionId))
    const isSame =
      found !== undefined &&
      found !== 'unknown' &&
      found.state === 'open' &&
      found.amountUsdCents === amountUsdCents &&
      found.checkoutId === checkoutId
    if (!isSame)
      throw new StepFailure(
        `the page was read as ${found === undefined || found === 'unknown' ? 'unknown' : `${found.state}, ${found.amountUsdCents} cents, ${found.checkoutId}`}`,
        'Do not take card payments: this version does not read the answers of Stripe.',
      )
  })
  await step('A page that does not exist is reported as unknown', async () => {
    const found = await ask(provider.findSession(`${session.sessionId}0`))
    if (found !== 'unknown')
      throw new StepFailure(
        'Stripe answered with a page',
        'Do not take card payments: this version does not read the answers of Stripe.',
      )
  })
  return session
}

const refund = async ({ step }: Input, provider: CardProvider, paymentId: string): Promise<void> => {
  const refundId = randomUUID()
  await step('The payment is refunded', async (note) => {
    const { providerRefundId, state } = await ask(
      provider.createRefund({ refundId, paymentId, amountUsdCents, idempotencyKey: refundId }),
    )
    note(`${providerRefundId}, ${state}`)
    if (state === 'failed')
      throw new StepFailure('the refund failed', 'Look it up in the dashboard of Stripe, under Payments.')
  })
  await step('The refund is found by our id, and the payment no longer counts as settled', async () => {
    const own = await ask(provider.findOwnRefund(paymentId, refundId))
    const payment = await ask(provider.findPayment(paymentId))
    if (own?.amountUsdCents !== amountUsdCents || payment === undefined || payment.status === 'foreign')
      throw new StepFailure('the refund was not found', 'Look it up in the dashboard of Stripe.')
    if (payment.status.settled)
      throw new StepFailure('the payment still counts as settled', 'Look it up in the dashboard of Stripe.')
  })
}

/** Pays once at Stripe in test mode, as a buyer does, and follows the money back. */
export const contactStripe = async (input: Input): Promise<void> => {
  const { step, say, options } = input
  const startedAt = new Date(Date.now() - 60_000)
  const provider = await openProvider(input)
  const session = await createAndRead(input, provider)
  const { event, paymentId } = await step(
    'An event with a valid signature says that the page is paid',
    async (note) => {
      const port = options.port ?? portDefault
      const awaited = await awaitPaidEvent(provider, session.sessionId, {
        port,
        waitSeconds: options.waitSeconds,
      })
      try {
        say(`Run in another terminal: stripe listen --forward-to 127.0.0.1:${port}${webhookPath}`)
        say(`Pay with the card 4242 4242 4242 4242: ${session.url}`)
        const paid = await awaited.promise
        if (paid.fact.kind !== 'session' || paid.fact.paymentId === undefined)
          throw new StepFailure(
            `event ${paid.eventId} names no payment`,
            'Do not take card payments: this version does not read the events of Stripe.',
          )
        note(`${paid.type}, ${paid.eventId}`)
        return { event: paid, paymentId: paid.fact.paymentId }
      } finally {
        await awaited.stop()
      }
    },
  )
  await step('The payment is settled over 0.50 USD', async (note) => {
    const payment = await ask(provider.findPayment(paymentId))
    const status = payment?.status
    if (status === undefined || status === 'foreign' || !status.settled || status.usdCents !== amountUsdCents)
      throw new StepFailure(
        `payment ${paymentId} is not settled over 0.50 USD`,
        'Look it up in the dashboard of Stripe, under Payments.',
      )
    note(paymentId)
  })
  await step('The event is in the list of events, which the worker reads', async () => {
    const events = await ask(provider.listCardEvents(startedAt))
    if (!events.some(({ eventId }) => eventId === event.eventId))
      throw new StepFailure(
        `event ${event.eventId} is not among the ${events.length} newest`,
        'Give a restricted key the right to read Events.',
      )
  })
  await refund(input, provider, paymentId)
}
