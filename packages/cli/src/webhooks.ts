import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import type { WebhookDelivery, WebhookEndpoint } from '@pohf/protocol'
import { verifyWebhook } from '@pohf/verify'
import { agentCall, runCommand, type AgentRemote } from './agent.ts'

const pathOf = (id: string, step = '') => `/api/agents/webhooks/${encodeURIComponent(id)}${step}`
/** Prints the response as JSON where requested, else as text. */
const show = (remote: AgentRemote, answer: unknown, printText: () => void): void =>
  remote.json ? console.log(JSON.stringify(answer)) : printText()

const healthOf = (endpoint: WebhookEndpoint): string => {
  const delivered = endpoint.health.reduce((sum, hour) => sum + hour.delivered, 0)
  const failed = endpoint.health.reduce((sum, hour) => sum + hour.failed, 0)
  return delivered + failed === 0 ? 'nothing sent in 24 h' : `${delivered} taken, ${failed} failed in 24 h`
}

export const list = (remote: AgentRemote): Promise<void> =>
  runCommand(async () => {
    const answer = await agentCall<{ webhooks: WebhookEndpoint[] }>(remote, 'GET', '/api/agents/webhooks')
    show(remote, answer, () => {
      if (answer.webhooks.length === 0)
        console.log("No endpoint yet. Add one: pohf webhooks add https://hooks.example.com/pohf --events '*'")
      for (const endpoint of answer.webhooks) {
        const since = endpoint.failingSince ? ` since ${endpoint.failingSince}` : ''
        console.log(`${endpoint.id}  ${endpoint.state}${since}  ${endpoint.url}`)
        console.log(`  ${endpoint.events.join(', ')}; ${healthOf(endpoint)}; ${endpoint.waiting} waiting`)
      }
    })
  })

export const add = (url: string, remote: AgentRemote & { readonly events: string }): Promise<void> =>
  runCommand(async () => {
    const body = { url, events: remote.events.split(',') }
    const answer = await agentCall<{ id: string; signingSecret: string }>(
      remote,
      'POST',
      '/api/agents/webhooks',
      body,
    )
    show(remote, answer, () =>
      console.log(`${answer.id}\n${answer.signingSecret}\nThe secret is shown this once. Keep it.`),
    )
  })

/** A command of one call and one line of output. */
const webhookAction =
  (method: 'POST' | 'PATCH' | 'DELETE', path: (id: string) => string, said: string, body?: unknown) =>
  (id: string, remote: AgentRemote): Promise<void> =>
    runCommand(async () => {
      const answer = await agentCall(remote, method, path(id), body)
      show(remote, answer, () => console.log(said))
    })

export const enable = webhookAction(
  'PATCH',
  pathOf,
  'On. What it missed comes with: pohf webhooks recover <id> --since <time>',
  {
    enabled: true,
  },
)
export const disable = webhookAction('PATCH', pathOf, 'Off. Nothing is sent to it until it is switched on.', {
  enabled: false,
})
export const remove = webhookAction('DELETE', pathOf, 'Deleted.')
export const sendTest = webhookAction(
  'POST',
  (id) => pathOf(id, '/test'),
  'Sent. See what came of it: pohf webhooks deliveries <id>',
)
export const replay = webhookAction(
  'POST',
  (id) => `/api/agents/webhooks/deliveries/${encodeURIComponent(id)}/replay`,
  'It is sent again now.',
)

export const rotate = (id: string, remote: AgentRemote & { readonly now?: boolean }): Promise<void> =>
  runCommand(async () => {
    const answer = await agentCall<{ signingSecret: string; previousSecretUntil: string | null }>(
      remote,
      'POST',
      pathOf(id, '/rotate'),
      remote.now ? { overlapSeconds: 0 } : {},
    )
    show(remote, answer, () => {
      console.log(`${answer.signingSecret}\nThe secret is shown this once.`)
      console.log(
        answer.previousSecretUntil === null
          ? 'The old secret signs no more.'
          : `The old secret signs too until ${answer.previousSecretUntil}.`,
      )
    })
  })

export const recover = (id: string, remote: AgentRemote & { readonly since: string }): Promise<void> =>
  runCommand(async () => {
    const since = new Date(remote.since)
    const body = { since: Number.isNaN(since.getTime()) ? remote.since : since.toISOString() }
    const answer = await agentCall<{ recoveringSince: string }>(remote, 'POST', pathOf(id, '/recover'), body)
    show(remote, answer, () =>
      console.log(`On, and everything since ${answer.recoveringSince} that it did not take is being sent.`),
    )
  })

export const deliveries = (
  id: string,
  remote: AgentRemote & { readonly state?: string; readonly limit?: string },
): Promise<void> =>
  runCommand(async () => {
    const query = new URLSearchParams()
    for (const name of ['state', 'limit'] as const) {
      const value = remote[name]
      if (value !== undefined) query.set(name, value)
    }
    const answer = await agentCall<{ deliveries: WebhookDelivery[] }>(
      remote,
      'GET',
      `${pathOf(id, '/deliveries')}?${query.toString()}`,
    )
    show(remote, answer, () => {
      if (answer.deliveries.length === 0) console.log('No delivery yet. Send one: pohf webhooks test <id>')
      for (const delivery of answer.deliveries) {
        console.log(`${delivery.id}  ${delivery.state}  ${delivery.type}  ${delivery.eventId}`)
        for (const { at, status, fault, durationMs, why } of delivery.attempts)
          console.log(`  ${at}  ${status ?? fault}  ${durationMs} ms${why === null ? '' : `  ${why}`}`)
        if (delivery.nextAttemptAt !== null) console.log(`  next attempt ${delivery.nextAttemptAt}`)
      }
    })
  })

type VerifyWebhookOptions = {
  readonly secret?: string
  readonly headers: string
  readonly body: string
  readonly at?: string
  readonly tolerance?: string
  readonly json?: boolean
}

/** Reads headers from a file: one JSON object, or lines as curl and most servers print them. */
const headersIn = (text: string): Record<string, string> => {
  if (text.trimStart().startsWith('{')) return JSON.parse(text) as Record<string, string>
  const fields = text
    .split(/\r?\n/)
    .map((line) => /^\s*[<>]?\s*([\w-]+):\s*(.*?)\s*$/.exec(line))
    .flatMap((found) => (found ? [[found[1] ?? '', found[2] ?? ''] as const] : []))
  return Object.fromEntries(fields)
}

/** `pohf webhooks verify`: offline; 0 genuine, 1 refused with the cause, 2 wrongly called. */
export const verify = async (options: VerifyWebhookOptions): Promise<void> => {
  const secret = options.secret ?? process.env['POHF_WEBHOOK_SECRET']
  const now = options.at === undefined ? new Date() : new Date(options.at)
  if (!secret || Number.isNaN(now.getTime())) {
    console.error(
      secret
        ? '--at must be a time such as 2026-01-31T12:00:00Z.'
        : 'A secret is needed: --secret or POHF_WEBHOOK_SECRET.',
    )
    process.exitCode = 2
    return
  }
  const read = async () => ({
    headers: headersIn(readFileSync(options.headers, 'utf8')),
    body: options.body === '-' ? await buffer(process.stdin) : readFileSync(options.body),
  })
  const input = await read().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 2
    return undefined
  })
  if (!input) return
  const toleranceSeconds = options.tolerance === undefined ? undefined : Number(options.tolerance)
  const result = await verifyWebhook({ secret, ...input, toleranceSeconds, clock: () => now })
  if (options.json) console.log(JSON.stringify(result))
  else
    console.log(
      result.ok
        ? `✓ genuine: ${result.id}, signed ${result.timestamp.toISOString()}`
        : `✗ ${result.reason}: ${result.message}`,
    )
  if (!result.ok) process.exitCode = 1
}
