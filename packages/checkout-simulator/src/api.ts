import { createHash } from 'node:crypto'
import type { Actions } from './actions.ts'
import type { Records, Session } from './records.ts'
import { at, listAt, readForm, textAt, type Form } from './form.ts'

export type Reply = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: object
}
type ApiError = {
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly param?: string
}
const errorReply = (status: number, error: ApiError): Reply => ({ status, body: { error } })
const invalid = (message: string, more: Partial<ApiError> = {}) =>
  errorReply(400, { type: 'invalid_request_error', message, ...more })
const missing = (what: string, id: string) =>
  errorReply(404, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such ${what}: '${id}'`,
    param: 'id',
  })

/** The provider's own limits: from half a dollar up, a page that lives 24 hours. */
const amountMin = 50
const amountMax = 99_999_999
const sessionSeconds = 86_400
const listMax = 100
const answersMax = 10_000

const metadataOf = (form: Form, ...path: string[]): Record<string, string> => {
  const given = at(form, ...path)
  return typeof given === 'object'
    ? Object.fromEntries(
        Object.entries(given).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
      )
    : {}
}

export type ApiRequest = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: string
  readonly header: (name: string) => string | undefined
}

/** As much of the provider's API as the server's SDK calls. */
export const makeApi = (
  parts: { readonly book: Records; readonly acts: Actions; readonly slowRefunds: () => boolean },
  secretKey: string,
) => {
  const { book: records, acts: actions, slowRefunds } = parts
  const createSession = (form: Form): Reply => {
    const item = at(form, 'line_items', '0')
    const successUrl = textAt(form, 'success_url')
    if (typeof item !== 'object')
      return invalid('Missing required param: line_items.', {
        code: 'parameter_missing',
        param: 'line_items',
      })
    if (successUrl === undefined || !URL.canParse(successUrl))
      return invalid('Not a valid URL', { code: 'url_invalid', param: 'success_url' })
    if (textAt(form, 'mode') !== 'payment') return invalid('Invalid mode', { param: 'mode' })
    if (textAt(item, 'price_data', 'currency') !== 'usd')
      return invalid('Invalid currency', { param: 'line_items[0][price_data][currency]' })
    const amount = Number(textAt(item, 'price_data', 'unit_amount')) * Number(textAt(item, 'quantity') ?? '1')
    if (!Number.isInteger(amount) || amount > amountMax)
      return invalid('Invalid integer', { param: 'line_items[0][price_data][unit_amount]' })
    if (amount < amountMin)
      return invalid('The Checkout Session’s total amount due must add up to at least $0.50 usd', {
        code: 'amount_too_small',
      })
    const created = records.nowSeconds()
    const session: Session = {
      id: records.id('cs_test_'),
      amount,
      name: textAt(item, 'price_data', 'product_data', 'name') ?? 'Payment',
      clientReferenceId: textAt(form, 'client_reference_id') ?? null,
      metadata: { ...metadataOf(form, 'metadata'), ...metadataOf(form, 'payment_intent_data', 'metadata') },
      successUrl,
      cancelUrl: textAt(form, 'cancel_url') ?? null,
      created,
      expiresAt: created + sessionSeconds,
      status: 'open',
      paymentStatus: 'unpaid',
      paymentId: null,
    }
    records.insert(records.sessions, session.id, session)
    return { status: 200, body: records.writeSession(session) }
  }

  const listEvents = (query: Form): Reply => {
    const types = new Set(listAt(query, 'types'))
    const since = Number(textAt(query, 'created', 'gte') ?? '0')
    const limit = Math.min(Number(textAt(query, 'limit') ?? '10'), listMax)
    const found = [...records.events.values()]
      .filter((event) => event.created >= since && (types.size === 0 || types.has(event.type)))
      .toReversed()
    const after = textAt(query, 'starting_after')
    const start = after === undefined ? 0 : found.findIndex((event) => event.id === after) + 1
    const page = found.slice(start, start + limit)
    return {
      status: 200,
      body: {
        object: 'list',
        url: '/v1/events',
        has_more: start + limit < found.length,
        data: page.map((event) => JSON.parse(event.body) as object),
      },
    }
  }

  const refund = (form: Form): Reply => {
    const paymentId = textAt(form, 'payment_intent') ?? ''
    const payment = records.payments.get(paymentId)
    if (!payment) return missing('payment_intent', paymentId)
    if (payment.status === 'succeeded' && payment.refunded === payment.amount)
      return invalid(`Charge ${payment.chargeId} has already been refunded.`, {
        code: 'charge_already_refunded',
      })
    const amount = textAt(form, 'amount')
    const made = actions.refund(payment, {
      amount: amount === undefined ? undefined : Number(amount),
      metadata: metadataOf(form, 'metadata'),
      slow: slowRefunds(),
    })
    return made
      ? { status: 200, body: records.writeRefund(made) }
      : invalid('Refund amount is greater than unrefunded amount on charge', { param: 'amount' })
  }
  const listRefunds = (query: Form): Reply => {
    const of = textAt(query, 'payment_intent')
    const limit = Math.min(Number(textAt(query, 'limit') ?? '10'), listMax)
    const found = [...records.refunds.values()]
      .filter(({ paymentId }) => of === undefined || paymentId === of)
      .toReversed()
    return {
      status: 200,
      body: {
        object: 'list',
        url: '/v1/refunds',
        has_more: found.length > limit,
        data: found.slice(0, limit).map((one) => records.writeRefund(one)),
      },
    }
  }
  const readPayment = (id: string, query: Form): Reply => {
    const payment = records.payments.get(id)
    return payment
      ? {
          status: 200,
          body: records.writePayment(payment, listAt(query, 'expand').includes('latest_charge')),
        }
      : missing('payment_intent', id)
  }
  const readCharge = (id: string): Reply => {
    const payment = [...records.payments.values()].find(({ chargeId }) => chargeId === id)
    return payment ? { status: 200, body: records.writeCharge(payment) } : missing('charge', id)
  }
  const readRefund = (id: string): Reply => {
    const found = records.refunds.get(id)
    return found ? { status: 200, body: records.writeRefund(found) } : missing('refund', id)
  }
  const readOne = (kind: string, id: string, query: Form): Reply => {
    if (kind === 'refunds') return readRefund(id)
    return kind === 'charges' ? readCharge(id) : readPayment(id, query)
  }

  const handleRequest = (request: ApiRequest): Reply => {
    const { method, path } = request
    const form = readForm(request.body)
    const query = readForm(request.query)
    if (path === '/v1/checkout/sessions' && method === 'POST') return createSession(form)
    if (path === '/v1/events' && method === 'GET') return listEvents(query)
    if (path === '/v1/refunds') return method === 'POST' ? refund(form) : listRefunds(query)
    const [, kind = '', named = ''] = /^\/v1\/(refunds|payment_intents|charges)\/([^/]+)$/.exec(path) ?? []
    if (kind !== '' && method === 'GET') return readOne(kind, named, query)
    const [, id = '', step] = /^\/v1\/checkout\/sessions\/([^/]+)(\/expire)?$/.exec(path) ?? []
    if (id === '' || (method === 'GET') === (step !== undefined))
      return errorReply(404, {
        type: 'invalid_request_error',
        message: `Unrecognized request URL (${method}: ${path}).`,
      })
    const session = records.sessions.get(id)
    if (!session) return missing('checkout.session', id)
    if (step !== undefined && !actions.expire(session))
      return invalid(`Only Checkout Sessions with a status in ["open"] can be expired.`)
    const expand = new Set(listAt(query, 'expand'))
    const payment =
      expand.has('payment_intent') || expand.has('payment_intent.latest_charge')
        ? records.payments.get(session.paymentId ?? '')
        : undefined
    const written = records.writeSession(session)
    if (!payment) return { status: 200, body: written }
    const whole = records.writePayment(payment, expand.has('payment_intent.latest_charge'))
    return { status: 200, body: { ...written, payment_intent: whole } }
  }

  const answers = new Map<string, { readonly print: string; readonly reply: Reply | 'under way' }>()
  /** One answer for one key, the first; another request under the same key is refused. */
  const withIdempotencyKey = async (request: ApiRequest, run: () => Promise<Reply>): Promise<Reply> => {
    const key = request.header('idempotency-key')
    if (key === undefined || request.method !== 'POST') return run()
    const print = createHash('sha256').update(`${request.path} ${request.body}`).digest('hex')
    const known = answers.get(key)
    if (known?.reply === 'under way')
      return errorReply(409, {
        type: 'idempotency_error',
        code: 'idempotency_key_in_use',
        message: `There is currently another in-progress request using this Stripe-Idempotency-Key`,
      })
    if (known && known.print !== print)
      return errorReply(400, {
        type: 'idempotency_error',
        message: `Keys for idempotent requests can only be used with the same parameters they were first used with.`,
      })
    if (known) return { ...known.reply, headers: { ...known.reply.headers, 'idempotent-replayed': 'true' } }
    answers.set(key, { print, reply: 'under way' })
    const reply = await run()
    // Faults of the parameters are not kept; faults of its own are, as the provider does.
    if (reply.status >= 400 && reply.status < 500) answers.delete(key)
    else records.insert(answers, key, { print, reply })
    if (answers.size > answersMax) answers.clear()
    return reply
  }

  const answer = async (request: ApiRequest, before: () => Promise<Reply | undefined>): Promise<Reply> => {
    const given = /^Bearer (\S+)$/.exec(request.header('authorization') ?? '')?.[1] ?? ''
    const reply =
      given === secretKey
        ? await withIdempotencyKey(request, async () => (await before()) ?? handleRequest(request))
        : errorReply(401, {
            type: 'invalid_request_error',
            message: `Invalid API Key provided: ${given.slice(0, 8)}****${given.slice(-4)}`,
          })
    const version = request.header('stripe-version')
    return {
      ...reply,
      headers: {
        'request-id': records.id('req_'),
        ...(version === undefined ? {} : { 'stripe-version': version }),
        ...(reply.status >= 500 ? { 'stripe-should-retry': 'false' } : {}),
        ...reply.headers,
      },
    }
  }
  return { answer, clearIdempotencyKeys: () => answers.clear() }
}
