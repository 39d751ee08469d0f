import { createHash, createHmac, randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { EventEnvelope } from '@pohf/protocol'
import { agentCall, keyOf, type AgentRemote } from '../command/agent.ts'
import { CommandError, UsageError } from '../command/errors.ts'
import { printAnswer } from '../command/output.ts'

type ListenOptions = AgentRemote & {
  readonly forwardTo: string
  readonly secret?: string
  readonly events?: string
  readonly since?: string
  readonly once?: boolean
}
type Page = {
  readonly events: readonly EventEnvelope[]
  readonly nextCursor: string
  readonly hasMore: boolean
}

const pollMs = 1_000
const forwardTimeoutMs = 15_000

/** The request that the service itself would send, identical but for the time. */
const requestOf = (secret: string, event: EventEnvelope): RequestInit => {
  const body = JSON.stringify(event)
  const seconds = Math.floor(Date.now() / 1_000)
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signature = `v1,${createHmac('sha256', key).update(`${event.id}.${seconds}.${body}`).digest('base64')}`
  return {
    method: 'POST',
    body,
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      'webhook-id': event.id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': signature,
      'x-service-signature': signature,
      'content-digest': `sha-256=:${createHash('sha256').update(body).digest('base64')}:`,
    },
    signal: AbortSignal.timeout(forwardTimeoutMs),
  }
}

type ForwardResult = {
  readonly event: EventEnvelope
  readonly answer: string
  readonly durationMs: number
}

const forward = async (url: string, secret: string, event: EventEnvelope): Promise<ForwardResult> => {
  const startedAt = performance.now()
  const answer = await fetch(url, requestOf(secret, event)).then(
    async (response) => {
      await response.body?.cancel()
      return `${response.status}${response.ok ? '' : ' not accepted'}`
    },
    (error: unknown) => {
      const { cause } = error as { cause?: { code?: string } }
      return `no answer: ${cause?.code ?? (error instanceof Error ? error.name : String(error))}`
    },
  )
  return { event, answer, durationMs: Math.round(performance.now() - startedAt) }
}

const checkOptions = (options: ListenOptions): void => {
  if (!keyOf(options).startsWith('svc_test_'))
    throw new CommandError('listen is for test keys: live events do not belong on a developer’s machine.', {
      code: 'live_key',
      fix: 'Use a test key: pohf register --mode test.',
    })
  if (!URL.canParse(options.forwardTo))
    throw new UsageError('--forward-to must be a URL.', 'Give one such as http://127.0.0.1:4000/.')
  if (options.secret !== undefined && !/^whsec_[A-Za-z0-9+/]+=*$/.test(options.secret))
    throw new UsageError('--secret must be whsec_ and base64, whole, as it was shown at registration.')
}

const printStart = (options: ListenOptions, secret: string): void => {
  console.log(`Forwarding events of ${options.url} to ${options.forwardTo}`)
  console.log(
    options.secret === undefined
      ? `Signed with ${secret}, made for this run. --secret signs with that of a real endpoint.`
      : 'Signed with the secret that was given.',
  )
}

/** `pohf listen`: reads the events of a test key and sends them, signed, to a receiver on this machine. */
export const listen = async (options: ListenOptions): Promise<void> => {
  checkOptions(options)
  const eventTypes = options.events?.split(',')
  const secret = options.secret ?? `whsec_${randomBytes(32).toString('base64')}`
  printAnswer(options, { forwardTo: options.forwardTo, secret }, () => printStart(options, secret))
  let query = `since=${encodeURIComponent(options.since ?? new Date().toISOString())}`
  for (;;) {
    const page = await agentCall<Page>(options, 'GET', `/api/agents/events?limit=100&${query}`)
    for (const event of page.events)
      if (!eventTypes || eventTypes.includes(event.type)) {
        const forwarded = await forward(options.forwardTo, secret, event)
        printAnswer(options, forwarded, () =>
          console.log(
            `${event.timestamp}  ${event.type.padEnd(24)} ${event.id}  →  ${forwarded.answer}  ${forwarded.durationMs} ms`,
          ),
        )
      }
    query = `cursor=${page.nextCursor}`
    if (page.hasMore) continue
    if (options.once) return
    await setTimeout(pollMs)
  }
}

/** `pohf trigger`: publishes the example of an event. */
export const trigger = async (type: string, remote: AgentRemote): Promise<void> => {
  const answer = await agentCall<{ eventId: string }>(remote, 'POST', '/api/test/events', { body: { type } })
  printAnswer(remote, answer, () => console.log(`${type} happened as ${answer.eventId}.`))
}
