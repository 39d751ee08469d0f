import type { Acts } from './actions.ts'
import type { Book, StoredEvent } from './records.ts'
import type { Deliverer, Manner } from './deliver.ts'

/** How the API misbehaves, for so many calls. `cut` acts and hangs up; `hang` neither acts nor answers. */
export type Misbehaviour = {
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
    readonly book: Book
    readonly acts: Acts
    readonly deliverer: Deliverer
    readonly forgetKeys: () => void
  },
  misbehaviour: Misbehaviour,
) => {
  const { book, acts, deliverer, forgetKeys } = parts

  const forSession = (id: string, step: string, input: Input): Answer => {
    const session = book.sessions.get(id)
    if (!session) return { status: 404, body: { why: 'no such session' } }
    const steps: Readonly<Record<string, () => boolean>> = {
      pay: () => acts.pay(session),
      'pay-slowly': () => acts.paySlowly(session),
      settle: () => acts.settleSlow(session, input['succeeded'] === true),
      expire: () => acts.expire(session),
    }
    const run = Object.hasOwn(steps, step) ? steps[step] : undefined
    if (!run) return { status: 404, body: { why: 'no such step' } }
    return run() ? done({ payment: session.paymentId }) : refused(`the session is ${session.status}`)
  }
  const forPayment = (id: string, step: string, input: Input): Answer => {
    const payment = book.payments.get(id)
    if (!payment) return { status: 404, body: { why: 'no such payment' } }
    const amount = numberIn(input, 'amount')
    if (step === 'refund') {
      const made = acts.refund(payment, { amount })
      return made ? done({ refund: made.id }) : refused('that is too much')
    }
    if (step === 'dispute')
      return done({ dispute: acts.dispute(payment, amount, input['inquiry'] === true).id })
    return { status: 404, body: { why: 'no such step' } }
  }
  const closeDispute = (id: string, input: Input): Answer => {
    const dispute = book.disputes.get(id)
    const how = input['how']
    if (!dispute || (how !== 'won' && how !== 'lost' && how !== 'warning_closed'))
      return { status: 404, body: { why: 'no such dispute or end' } }
    acts.closeDispute(dispute, how)
    return done()
  }
  const endRefund = (id: string, input: Input): Answer => {
    const refund = book.refunds.get(id)
    if (!refund) return { status: 404, body: { why: 'no such refund' } }
    return acts.endRefund(refund, input['succeeded'] === true) ? done() : refused(`it is ${refund.status}`)
  }
  const setManner = (input: Input): Answer => {
    const manner: Manner = deliverer.manner
    if (typeof input['hold'] === 'boolean') manner.hold = input['hold']
    if (typeof input['slowRefunds'] === 'boolean') misbehaviour.slowRefunds = input['slowRefunds']
    manner.copies = Math.min(100, numberIn(input, 'copies') ?? manner.copies)
    manner.delayMs = Math.min(60_000, numberIn(input, 'delayMs') ?? manner.delayMs)
    return done(manner)
  }
  /** Sends chosen messages in the order given, all at once or one after the other, and says what was answered. */
  const deliver = async (input: Input): Promise<Answer> => {
    const ids = Array.isArray(input['events'])
      ? input['events'].map(String)
      : deliverer.held.map((event) => event.id)
    const events = ids.flatMap((id): StoredEvent[] => {
      const event = book.events.get(id)
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
    if (first === 'manner') return setManner(input)
    if (first === 'deliver') return deliver(input)
    if (first === 'clock') {
      book.setClock(numberIn(input, 'offsetMs') ?? 0)
      return done()
    }
    if (first === 'forget') {
      // What was said, or the keys of questions, which the real one keeps for a day.
      if (input['keys'] === true) forgetKeys()
      else book.events.clear()
      return done()
    }
    if (first === 'misbehave') {
      const kinds = ['none', 'error', 'cut', 'hang', 'slow'] as const
      misbehaviour.kind = kinds.find((kind) => kind === input['kind']) ?? 'none'
      misbehaviour.calls = numberIn(input, 'calls') ?? 1
      return done()
    }
    if (first === 'state')
      return done({
        sessions: [...book.sessions.values()],
        payments: [...book.payments.values()],
        refunds: [...book.refunds.values()],
        events: [...book.events.values()].map(({ id: eventId, type, created }) => ({
          id: eventId,
          type,
          created,
        })),
        deliveries: deliverer.deliveries,
      })
    return { status: 404, body: { why: 'no such control' } }
  }
}
