import type { Api } from '../shared/api/client.ts'
import { useQuery, type QueryState } from '../shared/api/use-query.ts'
import type { AgentProfile } from './wire.ts'

/** The record of the agent, which changes rarely. */
export const useProfile = (api: Api): QueryState<AgentProfile> =>
  useQuery(() => api.call<AgentProfile>('GET', '/api/agents/me'), 'profile', 60_000)
