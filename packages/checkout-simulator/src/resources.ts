import { expire, refund, type Simulator } from './actions.ts'
import { at, listAt, readForm, textAt, type Form } from './form.ts'
import { writeCharge, writePayment, writeRefund, writeSession } from './objects.ts'
import { insert, makeId, type Session } from './records.ts'

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
export const errorReply = (status: number, error: ApiError): Reply => ({ status, body: { error } })
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

const metadataOf = (form: Form, ...path: string[]): Record<string, string> => {
  const metadata = at(form, ...path)
  return typeof metadata === 'object'
    ? Object.fromEntries(
        Object.entries(metadata).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
      )
    : {}
}

export type ResourceParts = Simulator & { readonly slowRefunds: () => boolean }

/** The session that a form asks for, or the error that the provider answers. */
const readSessionForm = (form: Form): Omit<Session, 'id' | 'created' | 'expiresAt'> | Reply => {
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
  return {
    amount,
    name: textAt(item, 'price_data', 'product_data', 'name') ?? 'Payment',
    clientReferenceId: textAt(form, 'client_reference_id') ?? null,
    metadata: { ...metadataOf(form, 'metadata'), ...metadataOf(form, 'payment_intent_data', 'metadata') },
    successUrl,
    cancelUrl: textAt(form, 'cancel_url') ?? null,
    status: 'open',
    paymentStatus: 'unpaid',
    paymentId: null,
  }
}

const createSession = ({ records }: ResourceParts, form: Form): Reply => {
  const read = readSessionForm(form)
  if ('body' in read) return read
  const created = records.nowSeconds()
  const session: Session = { id: makeId('cs_test_'), created, expiresAt: created + sessionSeconds, ...read }
  insert(records.sessions, session.id, session)
  return { status: 200, body: writeSession(records, session) }
}

const listEvents = ({ records }: ResourceParts, query: Form): Reply => {
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

const createRefund = (parts: ResourceParts, form: Form): Reply => {
  const { records, slowRefunds } = parts
  const paymentId = textAt(form, 'payment_intent') ?? ''
  const payment = records.payments.get(paymentId)
  if (!payment) return missing('payment_intent', paymentId)
  if (payment.status === 'succeeded' && payment.refunded === payment.amount)
    return invalid(`Charge ${payment.chargeId} has already been refunded.`, {
      code: 'charge_already_refunded',
    })
  const amount = textAt(form, 'amount')
  const created = refund(parts, payment, {
    amount: amount === undefined ? undefined : Number(amount),
    metadata: metadataOf(form, 'metadata'),
    slow: slowRefunds(),
  })
  return created
    ? { status: 200, body: writeRefund(records, created) }
    : invalid('Refund amount is greater than unrefunded amount on charge', { param: 'amount' })
}

const listRefunds = ({ records }: ResourceParts, query: Form): Reply => {
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
      data: found.slice(0, limit).map((one) => writeRefund(records, one)),
    },
  }
}

const readPayment = ({ records }: ResourceParts, id: string, query: Form): Reply => {
  const payment = records.payments.get(id)
  const expandCharge = listAt(query, 'expand').includes('latest_charge')
  return payment
    ? { status: 200, body: writePayment(records, payment, expandCharge) }
    : missing('payment_intent', id)
}
const readCharge = ({ records }: ResourceParts, id: string): Reply => {
  const payment = [...records.payments.values()].find(({ chargeId }) => chargeId === id)
  return payment ? { status: 200, body: writeCharge(records, payment) } : missing('charge', id)
}
const readRefund = ({ records }: ResourceParts, id: string): Reply => {
  const found = records.refunds.get(id)
  return found ? { status: 200, body: writeRefund(records, found) } : missing('refund', id)
}
const readOne = (parts: ResourceParts, kind: string, id: string, query: Form): Reply => {
  if (kind === 'refunds') return readRefund(parts, id)
  return kind === 'charges' ? readCharge(parts, id) : readPayment(parts, id, query)
}

const readSession = ({ records }: ResourceParts, session: Session, query: Form): Reply => {
  const expand = new Set(listAt(query, 'expand'))
  const expandCharge = expand.has('payment_intent.latest_charge')
  const payment =
    expand.has('payment_intent') || expandCharge ? records.payments.get(session.paymentId ?? '') : undefined
  const written = writeSession(records, session)
  return {
    status: 200,
    body: payment ? { ...written, payment_intent: writePayment(records, payment, expandCharge) } : written,
  }
}

export type ApiRequest = {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: string
  readonly header: (name: string) => string | undefined
}

/** Runs one request of the provider's API: as many resources as the server's SDK calls. */
export const handleRequest = (parts: ResourceParts, request: ApiRequest): Reply => {
  const { method, path } = request
  const form = readForm(request.body)
  const query = readForm(request.query)
  if (path === '/v1/checkout/sessions' && method === 'POST') return createSession(parts, form)
  if (path === '/v1/events' && method === 'GET') return listEvents(parts, query)
  if (path === '/v1/refunds') return method === 'POST' ? createRefund(parts, form) : listRefunds(parts, query)
  const [, kind = '', resourceId = ''] = /^\/v1\/(refunds|payment_intents|charges)\/([^/]+)$/.exec(path) ?? []
  if (kind !== '' && method === 'GET') return readOne(parts, kind, resourceId, query)
  const [, id = '', step] = /^\/v1\/checkout\/sessions\/([^/]+)(\/expire)?$/.exec(path) ?? []
  if (id === '' || (method === 'GET') === (step !== undefined))
    return errorReply(404, {
      type: 'invalid_request_error',
      message: `Unrecognized request URL (${method}: ${path}).`,
    })
  const session = parts.records.sessions.get(id)
  if (!session) return missing('checkout.session', id)
  if (step !== undefined && !expire(parts, session))
    return invalid(`Only Checkout Sessions with a status in ["open"] can be expired.`)
  return readSession(parts, session, query)
}
