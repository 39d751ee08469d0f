import type { Api } from '../shared/api/client.ts'
import { useProfile } from './profile.ts'

/** Which agent the pages show. A key without the scope `keys` may not read its name. */
export const AgentIdentity = ({ api }: { api: Api }) => {
  const { value, error } = useProfile(api)
  if (!value && !error) return null
  return (
    <p class="agent">
      <span class="hidden">Agent: </span>
      {value ? (
        <>
          <b>{value.name}</b>
          {value.demo ? <span class="chip test">Demo data</span> : null}
          <span class="id" title={value.agentId}>
            {`${value.agentId.slice(0, 10)}…${value.agentId.slice(-4)}`}
          </span>
        </>
      ) : (
        <>
          <b>{api.keyHint === undefined ? 'Agent' : `Key …${api.keyHint}`}</b>
          <span class="small muted">Its name could not be read.</span>
        </>
      )}
    </p>
  )
}
