import type { WebhookEndpoint } from '@pohf/protocol'
import type { Mode } from '../../shared/api/client.ts'
import { isUsable } from '../keys/messages.ts'
import type { AgentProfile, ApiKeys, Credentials, Sessions } from '../wire.ts'

/** What the checklist is decided by. */
export type HomeData = {
  readonly profile: AgentProfile
  readonly keys: ApiKeys['keys']
  readonly credentials: Credentials['credentials']
  readonly sessions: Sessions['sessions']
  readonly webhooks: readonly WebhookEndpoint[]
}

/** How the page was opened. */
export type HomeVisit = {
  readonly mode: Mode
  readonly origin: string
  readonly hasAccount: boolean
  readonly now: number
}

export type ChecklistStep = {
  readonly id: 'key' | 'page' | 'verify' | 'webhook' | 'floor' | 'live'
  readonly title: string
  readonly isDone: boolean
  /** What was seen, or what to do. */
  readonly note: string
  readonly action?: { readonly text: string; readonly href: string }
  readonly commands?: string
}

const hasFloor = ({ policy }: AgentProfile): boolean =>
  Object.values(policy).some((floor) => floor !== undefined && Object.keys(floor).length > 0)

/** The steps from a key to the first live credential. The last one is done in live mode only. */
export const checklistOf = (data: HomeData, visit: HomeVisit): readonly ChecklistStep[] => {
  const { mode } = visit
  const { profile, keys, credentials, sessions, webhooks } = data
  const key = keys.find((one) => isUsable(one, visit.now))
  const seen = sessions.find(({ hostname }) => hostname !== null)
  const answered = webhooks.find(({ health }) => health.some(({ delivered }) => delivered > 0))
  return [
    {
      id: 'key',
      title: mode === 'test' ? 'Create a test key' : 'Create a live key',
      isDone: key !== undefined,
      note: key ? `…${key.hint}` : 'Your server calls the API with it.',
      action: { text: 'Create a key', href: '#/keys' },
    },
    {
      id: 'page',
      title: 'Add the check to a page',
      isDone: seen !== undefined || profile.allowedOrigins.length > 0,
      note: seen ? `We saw it on ${seen.hostname}` : 'One script and one element.',
      action: { text: 'Show the snippet', href: '#/install' },
    },
    {
      id: 'verify',
      title: 'Verify a session from your server',
      isDone: credentials.length > 0,
      note:
        credentials.length > 0
          ? 'Its credential is in the list below.'
          : 'One call, which returns a signed credential.',
      action: { text: 'Show the call', href: '#/credentials' },
    },
    {
      id: 'webhook',
      title: 'Add a webhook endpoint',
      isDone: webhooks.length > 0,
      note: answered
        ? `${new URL(answered.url).host} answered`
        : webhooks.length > 0
          ? 'It answered no delivery in the last 24 hours.'
          : 'Your server hears of every credential and order.',
      action: { text: 'Add an endpoint', href: '#/webhooks' },
    },
    {
      id: 'floor',
      title: 'Choose your floor',
      isDone: hasFloor(profile),
      note: hasFloor(profile)
        ? 'Weaker credentials are refused before they are charged.'
        : 'Say what you refuse: anything below low, substantial or high assurance.',
      action: { text: 'Choose a floor', href: '#/install' },
    },
    liveStep(data, visit),
  ]
}

const liveCommands = (origin: string): string => `curl -s ${origin}/api/agents/register \\
  -H 'Content-Type: application/json' \\
  -d '{"name":"me","mode":"live",
    "contactEmail":"me@example.com"}'`

const liveStep = ({ profile, credentials }: HomeData, visit: HomeVisit): ChecklistStep => {
  const { mode, origin, hasAccount } = visit
  const isDone = mode === 'live' && credentials.length > 0
  const step = { id: 'live', title: 'Mint your first live credential', isDone } as const
  if (mode === 'test' && hasAccount)
    return {
      ...step,
      note: 'Your live agent is there, with 1,000 free verifications a month. Nothing of it mixes with test data.',
      action: { text: 'Switch to live', href: '?mode=live#/home' },
    }
  if (mode === 'test')
    return {
      ...step,
      note: 'A live agent has keys of its own. With a confirmed address 1,000 verifications a month are free.',
      commands: liveCommands(origin),
    }
  return {
    ...step,
    note: isDone
      ? 'You are live.'
      : profile.emailConfirmedAt === null
        ? 'Confirm your mail address first: it gives 1,000 free verifications a month.'
        : 'Your address is confirmed: 1,000 verifications a month are free.',
    action: { text: 'Show the call', href: '#/credentials' },
  }
}
