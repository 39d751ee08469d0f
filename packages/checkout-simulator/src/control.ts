import {
  closeDispute,
  endRefund,
  expire,
  openDispute,
  pay,
  paySlowly,
  refund,
  settleSlow,
  type Simulator,
} from './actions.ts'
import type { StoredEvent } from './records.ts'

/** How the API fails, for so many calls. `cut` acts and closes the connection; `hang` neither acts nor answers. */
export type FaultInjection = {
  kind: 'none' | 'error' | 'cut' | 'hang' | 'slow'
  calls: number
  /** Refunds stay pending until a test ends them. */
  slowRefunds: boolean
}

type Parts = Simulator & {
  readonly clearIdempotencyKeys: () => void
  readonly faults: FaultInjection
}
type Input = Readonly<Record<string, unknown>>
type Answer = { readonly status: number; readonly body: object }
const ok = (body: object = {}): Answer => ({ status: 200, body })
const conflict = (why: string): Answer => ({ status: 409, body: { why } })
const unknown = (why: string): Answer => ({ status: 404, body: { why } })
const numberIn = (input: Input, name: string): number | undefined => {
  const value = input[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

type Target = { readonly id: string; readonly step: string }
type Control = (parts: Parts, input: Input, target: Target) => Answer | Promise<Answer>

const changeSession: Control = (parts, input, { id, step }) => {
  const session = parts.records.sessions.get(id)
  if (!session) return unknown('no such session')
  const steps: Readonly<Record<string, () => boolean>> = {
    pay: () => pay(parts, session),
    'pay-slowly': () => paySlowly(parts, session),
    settle: () => settleSlow(parts, session, input['succeeded'] === true),
    expire: () => expire(parts, session),
  }
  const run = Object.hasOwn(steps, step) ? steps[step] : undefined
  if (!run) return unknown('no such step')
  return run() ? ok({ payment: session.paymentId }) : conflict(`the session is ${session.status}`)
}

const changePayment: Control = (parts, input, { id, step }) => {
  const payment = parts.records.payments.get(id)
  if (!payment) return unknown('no such payment')
  const amount = numberIn(input, 'amount')
  if (step === 'refund') {
    const created = refund(parts, payment, { amount })
    return created ? ok({ refund: created.id }) : conflict('that is too much')
  }
  if (step === 'dispute')
    return ok({ dispute: openDispute(parts, payment, { amount, inquiry: input['inquiry'] === true }).id })
  return unknown('no such step')
}

const changeDispute: Control = (parts, input, { id, step }) => {
  const dispute = step === 'close' ? parts.records.disputes.get(id) : undefined
  const how = input['how']
  if (!dispute || (how !== 'won' && how !== 'lost' && how !== 'warning_closed'))
    return unknown('no such dispute or end')
  closeDispute(parts, dispute, how)
  return ok()
}

const changeRefund: Control = (parts, input, { id, step }) => {
  const found = step === 'end' ? parts.records.refunds.get(id) : undefined
  if (!found) return unknown('no such refund')
  return endRefund(parts, found, input['succeeded'] === true) ? ok() : conflict(`it is ${found.status}`)
}

const setDelivery: Control = ({ deliverer: { options }, faults }, input) => {
  if (typeof input['hold'] === 'boolean') options.hold = input['hold']
  if (typeof input['slowRefunds'] === 'boolean') faults.slowRefunds = input['slowRefunds']
  options.copies = Math.min(100, numberIn(input, 'copies') ?? options.copies)
  options.delayMs = Math.min(60_000, numberIn(input, 'delayMs') ?? options.delayMs)
  return ok(options)
}

/** Sends chosen events in the given order, all at once or one after the other, and returns the statuses. */
const deliver: Control = async ({ records, deliverer }, input) => {
  const ids = Array.isArray(input['events'])
    ? input['events'].map(String)
    : deliverer.heldEvents.map((event) => event.id)
  const events = ids.flatMap((id): StoredEvent[] => {
    const event = records.events.get(id)
    return event ? [event] : []
  })
  const signed = input['signed'] === 'wrong' ? 'wrong' : 'right'
  if (input['together'] === true)
    return ok({ statuses: await Promise.all(events.map((event) => deliverer.sendOnce(event, signed))) })
  const statuses: number[] = []
  for (const event of events) statuses.push(await deliverer.sendOnce(event, signed))
  return ok({ statuses })
}

const setClock: Control = ({ records }, input) => {
  records.setClock(numberIn(input, 'offsetMs') ?? 0)
  return ok()
}

/** Forgets the events, or the idempotency keys, which the real provider stores for a day. */
const forget: Control = ({ records, clearIdempotencyKeys }, input) => {
  if (input['keys'] === true) clearIdempotencyKeys()
  else records.events.clear()
  return ok()
}

const injectFaults: Control = ({ faults }, input) => {
  const kinds = ['none', 'error', 'cut', 'hang', 'slow'] as const
  faults.kind = kinds.find((kind) => kind === input['kind']) ?? 'none'
  faults.calls = numberIn(input, 'calls') ?? 1
  return ok()
}

const readState: Control = ({ records, deliverer }) =>
  ok({
    sessions: [...records.sessions.values()],
    payments: [...records.payments.values()],
    refunds: [...records.refunds.values()],
    events: [...records.events.values()].map(({ id, type, created }) => ({ id, type, created })),
    deliveries: deliverer.deliveries,
  })

const controls: Readonly<Record<string, Control>> = {
  sessions: changeSession,
  payments: changePayment,
  disputes: changeDispute,
  refunds: changeRefund,
  delivery: setDelivery,
  deliver,
  clock: setClock,
  forget,
  faults: injectFaults,
  state: readState,
}

/** What a test may cause. None of it is reachable from the page or the provider's API. */
export const runControl = async (parts: Parts, path: string, input: Input): Promise<Answer> => {
  const [, name = '', id = '', step = ''] =
    /^\/control\/([a-z]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path) ?? []
  const control = Object.hasOwn(controls, name) ? controls[name] : undefined
  return control ? control(parts, input, { id, step }) : unknown('no such control')
}
