import { setTimeout } from 'node:timers/promises'
import { postJson, type CallOutcome, type VerifyAgent } from './calls.ts'

/** What clients of one server were told: it outlives a load, so that the audit can compare all of it. */
export type VerifyRecord = {
  /** The credential that a client got, by agent and session. */
  readonly acknowledged: Map<string, string>
  /** The next session of each agent. */
  readonly next: Map<string, number>
  /** Sessions whose clients never learned the outcome, by agent and session. */
  readonly unresolved: Set<string>
}
export const newRecord = (): VerifyRecord => ({
  acknowledged: new Map(),
  next: new Map(),
  unresolved: new Set(),
})

export type LoadOptions = {
  readonly clients: number
  readonly random: () => number
  /** The share of calls that is sent twice at once. */
  readonly twice: number
  /** Whether calls that are sent twice carry one Idempotency-Key. */
  readonly idempotencyKeys: boolean
  /** A client waits at least this long between two sessions. */
  readonly pauseMs: number
  /** One more call is begun this often, whatever the others wait for: a new call shows whether the service works. */
  readonly arrivalMs?: number
  /** A client gives up waiting for an answer after this time. */
  readonly timeoutMs: number
}

/** No answer, an error of the server, or a key whose first call is still in progress: the call is repeated. */
const isRepeated = ({ status, error }: CallOutcome): boolean =>
  status === 0 || status >= 500 || (status === 409 && error === 'idempotency_in_progress')

const isExpected = (outcome: CallOutcome, agent: VerifyAgent): boolean =>
  outcome.status === 200 || isRepeated(outcome) || (outcome.status === 402 && agent.credits <= 1_000)

type VerifyCall = {
  readonly agent: VerifyAgent
  readonly sessionId: string
  readonly idempotencyKey?: string
}
const nameOf = ({ agent, sessionId }: VerifyCall): string => `${agent.agentId} ${sessionId}`

/** A call, and which of the addresses it went to. */
export type LoadCall = CallOutcome & { readonly baseUrl: string }

/** Sends calls to each address in turn, and records what became of them. */
const makeRecorder = (baseUrls: readonly string[], { acknowledged }: VerifyRecord, timeoutMs: number) => {
  const calls: LoadCall[] = []
  const faults: string[] = []
  const pending = new Map<symbol, number>()
  let sent = 0
  const send = async (call: VerifyCall): Promise<CallOutcome> => {
    const { agent, sessionId, idempotencyKey } = call
    const id = Symbol(sessionId)
    pending.set(id, performance.now())
    const baseUrl = baseUrls[sent++ % baseUrls.length] ?? ''
    const { json, ...outcome } = await postJson(`${baseUrl}/api/agents/verify`, {
      body: { sessionId },
      key: agent.key,
      timeoutMs,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    })
    pending.delete(id)
    calls.push({ ...outcome, baseUrl })
    const name = nameOf(call)
    if (outcome.status === 200) {
      const jwt = json['pohf_jwt'] ?? ''
      if ((acknowledged.get(name) ?? jwt) !== jwt) faults.push(`${name} was answered with two credentials`)
      acknowledged.set(name, jwt)
    } else if (!isExpected(outcome, agent))
      faults.push(`${name} was answered ${outcome.status} ${outcome.error}`)
    return outcome
  }
  return { calls, faults, send, pendingSince: () => Math.min(...pending.values()) }
}

/** Begins one call after another. */
const runClient = async (ended: AbortSignal, pauseMs: number, begin: () => Promise<void>): Promise<void> => {
  while (!ended.aborted) await Promise.all([begin(), setTimeout(pauseMs)])
}

/** Begins a call at each interval, whether or not those before were answered. */
const runArrivals = async (
  ended: AbortSignal,
  everyMs: number,
  begin: () => Promise<void>,
): Promise<void> => {
  const begun: Promise<void>[] = []
  while (!ended.aborted) {
    begun.push(begin())
    await setTimeout(everyMs)
  }
  await Promise.all(begun)
}

/**
 * Clients that verify one session after another, sometimes twice at once, and repeat until they have an answer. With several
 * addresses, two calls at once and the repetition of a call go to different ones.
 */
export const startLoad = (
  baseUrls: readonly string[],
  agents: readonly VerifyAgent[],
  record: VerifyRecord,
  options: LoadOptions,
) => {
  const { calls, faults, send, pendingSince } = makeRecorder(baseUrls, record, options.timeoutMs)
  const { random } = options
  const end = new AbortController()
  const waitUntil = { answer: Infinity, claimedKey: Infinity }

  const untilAnswered = async (call: VerifyCall): Promise<void> => {
    for (;;) {
      const outcome = await send(call)
      if (!isRepeated(outcome)) return
      // A call that died leaves its Idempotency-Key claimed for a minute. That is a known reason; no other is.
      const isClaimed = outcome.status === 409
      // The load ends, a call that has begun does not: what became of it must be known.
      if (performance.now() > (isClaimed ? waitUntil.claimedKey : waitUntil.answer)) {
        record.unresolved.add(nameOf(call))
        if (!isClaimed) faults.push(`${nameOf(call)} was never answered: ${outcome.status} ${outcome.error}`)
        return
      }
      await setTimeout(200)
    }
  }
  const verifyNext = async (agent: VerifyAgent): Promise<void> => {
    const n = record.next.get(agent.agentId) ?? 0
    if (n >= agent.sessions) return
    record.next.set(agent.agentId, n + 1)
    const times = random() < options.twice ? 2 : 1
    const key = times === 2 && options.idempotencyKeys ? { idempotencyKey: `key-${n}` } : {}
    const call = { agent, sessionId: `s${n}`, ...key }
    await Promise.all(Array.from({ length: times }, () => untilAnswered(call)))
  }
  const verifyAny = async (): Promise<void> => {
    const agent = agents[Math.floor(random() * agents.length)]
    if (agent) await verifyNext(agent)
  }
  const all = Promise.all([
    ...Array.from({ length: options.clients }, () => runClient(end.signal, options.pauseMs, verifyAny)),
    ...(options.arrivalMs === undefined ? [] : [runArrivals(end.signal, options.arrivalMs, verifyAny)]),
  ])
  return {
    calls,
    faults,
    /** When the oldest call without an outcome was sent; Infinity where there is none. */
    pendingSince,
    /** Begins no further session, and waits this long for answers to those that have begun, and for keys still claimed. */
    stop: async (answerMs: number, claimedKeyMs = answerMs) => {
      waitUntil.answer = performance.now() + answerMs
      waitUntil.claimedKey = performance.now() + claimedKeyMs
      end.abort()
      await all
    },
  }
}

const progressMin = 10

/** Waits until some more calls have succeeded. */
export const waitForProgress = async (succeeded: () => number, ms: number): Promise<void> => {
  const [before, deadline] = [succeeded(), performance.now() + ms]
  while (succeeded() < before + progressMin && performance.now() < deadline) await setTimeout(50)
}
