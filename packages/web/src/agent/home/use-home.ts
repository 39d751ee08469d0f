import type { WebhookEndpoint } from '@pohf/protocol'
import { toApiError, type Api } from '../../shared/api/client.ts'
import { useQuery, type QueryState } from '../../shared/api/use-query.ts'
import type { AgentProfile, ApiKeys, Credentials, Sessions } from '../wire.ts'
import type { HomeData } from './checklist.ts'

/** A key with few scopes sees less of the page, and no error. */
const ifAllowed = async <T>(call: Promise<T>): Promise<T | undefined> => {
  try {
    return await call
  } catch (error) {
    if (toApiError(error).code === 'forbidden') return undefined
    throw error
  }
}

const load = async (api: Api): Promise<Partial<HomeData>> => {
  const read = <T>(path: string) => ifAllowed(api.call<T>('GET', path))
  const [profile, keys, credentials, sessions, webhooks] = await Promise.all([
    read<AgentProfile>('/api/agents/me'),
    read<ApiKeys>('/api/agents/keys'),
    read<Credentials>('/api/agents/credentials?limit=6'),
    read<Sessions>('/api/agents/sessions?limit=20'),
    read<{ webhooks: WebhookEndpoint[] }>('/api/agents/webhooks'),
  ])
  return {
    ...(profile ? { profile } : {}),
    ...(keys ? { keys: keys.keys } : {}),
    ...(credentials ? { credentials: credentials.credentials } : {}),
    ...(sessions ? { sessions: sessions.sessions } : {}),
    ...(webhooks ? { webhooks: webhooks.webhooks } : {}),
  }
}

export const useHome = (api: Api): QueryState<Partial<HomeData>> => useQuery(() => load(api), 'home', 10_000)

/** All of it, which the checklist needs. */
export const isComplete = (data: Partial<HomeData>): data is HomeData =>
  (['profile', 'keys', 'credentials', 'sessions', 'webhooks'] as const).every(
    (name) => data[name] !== undefined,
  )
