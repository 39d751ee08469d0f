import type { Actions } from './actions.ts'
import type { Records, StoredEvent } from './records.ts'
import type { Deliverer, DeliveryOptions } from './deliver.ts'

/** How the API misbehaves, for so many calls. `cut` acts and hangs up; `hang` neither acts nor answers. */
export type FaultInjection = {
  kind: 'none' | 'error' | 'cut' | 'hang' | 'slow'
  calls: number
  /** Refunds stay pending until a test ends them. */
  slowRefunds: boolean
}

type Input = Readonly<Record<string, unknown>>
type Answer = { readonly status: number; readonly body: object }
const done = (body: object = {}): Answer => ({ status: 200, body })
const refused = (why: string): Answer => ({ status: 409, body: { why } })
const numberIn = (input: Input, name: string): number | undefined => {
  const value = input[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** What tests may make happen. Nothing of it is reachable from the page or the provider's API. */
export const makeControl = (
  parts: {
    readonly book: Records
    readonly acts: Actions
    readonly deliverer: Deliverer
    readonly forgetKeys: () => void
  },
  faultInjection: FaultInjection,
) => {
  const { book: records, acts: actions, deliverer, forgetKeys } = parts

  const forSession = (id: string, step: string, input: Input): Answer => {
    const session = records.sessions.get(id)
    if (!session) return { status: 404, body: { why: 'no such session' } }
    const steps: Readonly<Record<string, () => boolean>> = {
      pay: () => actions.pay(session),
      'pay-slowly': () => actions.paySlowly(session),
      settle: () => actions.settleSlow(session, input['succeeded'] === true),
      expire: () => actions.expire(session),
    }
    const run = Object.hasOwn(steps, step) ? steps[step] : undefined
    if (!run) return { status: 404, body: { why: 'no such step' } }
    return run() ? done({ payment: session.paymentId }) : refused(`the session is ${session.status}`)
  }
  const forPayment = (id: string, step: string, input: Input): Answer => {
    const payment = records.payments.get(id)
    if (!payment) return { status: 404, body: { why: 'no such payment' } }
    const amount = numberIn(input, 'amount')
    if (step === 'refund') {
      const made = actions.refund(payment, { amount })
      return made ? done({ refund: made.id }) : refused('that is too much')
    }
    if (step === 'dispute')
      return done({ dispute: actions.dispute(payment, amount, input['inquiry'] === true).id })
    return { status: 404, body: { why: 'no such step' } }
  }
  const closeDispute = (id: string, input: Input): Answer => {
    const dispute = records.disputes.get(id)
    const how = input['how']
    if (!dispute || (how !== 'won' && how !== 'lost' && how !== 'warning_closed'))
      return { status: 404, body: { why: 'no such dispute or end' } }
    actions.closeDispute(dispute, how)
    return done()
  }
  const endRefund = (id: string, input: Input): Answer => {
    const refund = records.refunds.get(id)
    if (!refund) return { status: 404, body: { why: 'no such refund' } }
    return actions.endRefund(refund, input['succeeded'] === true) ? done() : refused(`it is ${refund.status}`)
  }
  const setDeliveryOptions = (input: Input): Answer => {
    const options: DeliveryOptions = deliverer.options
    if (typeof input['hold'] === 'boolean') options.hold = input['hold']
    if (typeof input['slowRefunds'] === 'boolean') faultInjection.slowRefunds = input['slowRefunds']
    options.copies = Math.min(100, numberIn(input, 'copies') ?? options.copies)
    options.delayMs = Math.min(60_000, numberIn(input, 'delayMs') ?? options.delayMs)
    return done(options)
  }
  /** Sends chosen messages in the order given, all at once or one after the other, and says what was answered. */
  const deliver = async (input: Input): Promise<Answer> => {
    const ids = Array.isArray(input['events'])
      ? input['events'].map(String)
      : deliverer.heldEvents.map((event) => event.id)
    const events = ids.flatMap((id): StoredEvent[] => {
      const event = records.events.get(id)
      return event ? [event] : []
    })
    const signed = input['signed'] === 'wrong' ? 'wrong' : 'right'
    if (input['together'] === true)
      return done({ statuses: await Promise.all(events.map((event) => deliverer.sendOnce(event, signed))) })
    const statuses: number[] = []
    for (const event of events) statuses.push(await deliverer.sendOnce(event, signed))
    return done({ statuses })
  }

  return async (path: string, input: Input): Promise<Answer> => {
    const [, first = '', id = '', step = ''] =
      /^\/control\/([a-z]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path) ?? []
    if (first === 'sessions') return forSession(id, step, input)
    if (first === 'payments') return forPayment(id, step, input)
    if (first === 'disputes' && step === 'close') return closeDispute(id, input)
    if (first === 'refunds' && step === 'end') return endRefund(id, input)
    if (first === 'options') return setDeliveryOptions(input)
    if (first === 'deliver') return deliver(input)
    if (first === 'clock') {
      records.setClock(numberIn(input, 'offsetMs') ?? 0)
      return done()
    }
    if (first === 'forget') {
      // What was said, or the keys of questions, which the real one keeps for a day.
      if (input['keys'] === true) forgetKeys()
      else records.events.clear()
      return done()
    }
    if (first === 'misbehave') {
      const kinds = ['none', 'error', 'cut', 'hang', 'slow'] as const
      faultInjection.kind = kinds.find((kind) => kind === input['kind']) ?? 'none'
      faultInjection.calls = numberIn(input, 'calls') ?? 1
      return done()
    }
    if (first === 'state')
      return done({
        sessions: [...records.sessions.values()],
        payments: [...records.payments.values()],
        refunds: [...records.refunds.values()],
        events: [...records.events.values()].map(({ id: eventId, type, created }) => ({
          id: eventId,
          type,
          created,
        })),
        deliveries: deliverer.deliveries,
      })
    return { status: 404, body: { why: 'no such control' } }
  }
}
