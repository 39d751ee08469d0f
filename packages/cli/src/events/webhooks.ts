import type { WebhookDelivery, WebhookEndpoint } from '@pohf/protocol'
import { agentCall, type AgentRemote } from '../command/agent.ts'
import { printAnswer } from '../command/output.ts'

const pathOf = (id: string, step = '') => `/api/agents/webhooks/${encodeURIComponent(id)}${step}`

const healthOf = (endpoint: WebhookEndpoint): string => {
  const delivered = endpoint.health.reduce((sum, hour) => sum + hour.delivered, 0)
  const failed = endpoint.health.reduce((sum, hour) => sum + hour.failed, 0)
  return delivered + failed === 0 ? 'nothing sent in 24 h' : `${delivered} accepted, ${failed} failed in 24 h`
}

export const list = async (remote: AgentRemote): Promise<void> => {
  const answer = await agentCall<{ webhooks: WebhookEndpoint[] }>(remote, 'GET', '/api/agents/webhooks')
  printAnswer(remote, answer, () => {
    if (answer.webhooks.length === 0)
      console.log("No endpoint yet. Add one: pohf webhooks add https://hooks.example.com/pohf --events '*'")
    for (const endpoint of answer.webhooks) {
      const since = endpoint.failingSince ? ` since ${endpoint.failingSince}` : ''
      console.log(`${endpoint.id}  ${endpoint.state}${since}  ${endpoint.url}`)
      console.log(`  ${endpoint.events.join(', ')}; ${healthOf(endpoint)}; ${endpoint.waiting} waiting`)
    }
  })
}

export const add = async (url: string, remote: AgentRemote & { readonly events: string }): Promise<void> => {
  const body = { url, events: remote.events.split(',') }
  const answer = await agentCall<{ id: string; signingSecret: string }>(
    remote,
    'POST',
    '/api/agents/webhooks',
    { body },
  )
  printAnswer(remote, answer, () =>
    console.log(`${answer.id}\n${answer.signingSecret}\nThe secret is shown this once. Keep it.`),
  )
}

/** A command of one call and one line of output. */
const webhookAction =
  (method: 'POST' | 'PATCH' | 'DELETE', path: (id: string) => string, said: string, body?: unknown) =>
  async (id: string, remote: AgentRemote): Promise<void> => {
    const answer = await agentCall(remote, method, path(id), { body })
    printAnswer(remote, answer, () => console.log(said))
  }

export const enable = webhookAction(
  'PATCH',
  pathOf,
  'On. To send the events that it missed: pohf webhooks recover <id> --since <time>',
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

export const rotate = async (id: string, remote: AgentRemote & { readonly now?: boolean }): Promise<void> => {
  const answer = await agentCall<{ signingSecret: string; previousSecretUntil: string | null }>(
    remote,
    'POST',
    pathOf(id, '/rotate'),
    { body: remote.now ? { overlapSeconds: 0 } : {} },
  )
  printAnswer(remote, answer, () => {
    console.log(`${answer.signingSecret}\nThe secret is shown this once.`)
    console.log(
      answer.previousSecretUntil === null
        ? 'The old secret signs no more.'
        : `The old secret signs too until ${answer.previousSecretUntil}.`,
    )
  })
}

export const recover = async (
  id: string,
  remote: AgentRemote & { readonly since: string },
): Promise<void> => {
  const since = new Date(remote.since)
  const body = { since: Number.isNaN(since.getTime()) ? remote.since : since.toISOString() }
  const answer = await agentCall<{ recoveringSince: string }>(remote, 'POST', pathOf(id, '/recover'), {
    body,
  })
  printAnswer(remote, answer, () =>
    console.log(`On, and everything since ${answer.recoveringSince} that it did not accept is being sent.`),
  )
}

export const deliveries = async (
  id: string,
  remote: AgentRemote & { readonly state?: string; readonly limit?: string },
): Promise<void> => {
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
  printAnswer(remote, answer, () => {
    if (answer.deliveries.length === 0) console.log('No delivery yet. Send one: pohf webhooks test <id>')
    for (const delivery of answer.deliveries) {
      console.log(`${delivery.id}  ${delivery.state}  ${delivery.type}  ${delivery.eventId}`)
      for (const { at, status, fault, durationMs, why } of delivery.attempts)
        console.log(`  ${at}  ${status ?? fault}  ${durationMs} ms${why === null ? '' : `  ${why}`}`)
      if (delivery.nextAttemptAt !== null) console.log(`  next attempt ${delivery.nextAttemptAt}`)
    }
  })
}
