import type { Assurance, CredentialPolicy } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import type { AgentProfile } from '../wire.ts'

type FloorKind = keyof CredentialPolicy

const kinds: readonly (readonly [kind: FloorKind, label: string])[] = [
  ['view', 'Checks on your pages'],
  ['work', 'Work'],
  ['personhood', 'Members'],
]
type Level = readonly [value: '' | Assurance, label: string]
const levels: readonly Level[] = [
  ['', 'No floor'],
  ['low', 'Low: a session that looks human'],
  ['substantial', 'Substantial: also an attested device, or for work a paid account'],
  ['high', 'High: also a proof of an outside issuer'],
]

/** A view never reaches `high`: it is offered only where it is the choice already. */
const levelsOf = (kind: FloorKind, chosen: Assurance | undefined): readonly Level[] =>
  levels.filter(([value]) => kind !== 'view' || value !== 'high' || chosen === 'high')

/** The policy with another assurance for one kind. What the form does not show stays as it is. */
const withAssurance = (policy: CredentialPolicy, kind: FloorKind, value: string): CredentialPolicy => {
  const { minAssurance: _, ...rest } = policy[kind] ?? {}
  return { ...policy, [kind]: value === '' ? rest : { ...rest, minAssurance: value as Assurance } }
}

/** What a credential must reach, or the call is refused before it is charged. */
export const FloorForm = (props: { api: Api; profile: AgentProfile; onSaved: () => void }) => {
  const { api, profile } = props
  const [policy, setPolicy] = useState(profile.policy)
  const action = useAction(props.onSaved)
  return (
    <section class="card pad tall" aria-labelledby="floor">
      <h2 class="h3" id="floor">
        4. Choose your floor
      </h2>
      <p class="muted gap">A credential with less assurance is refused, and a refusal is not charged.</p>
      <form
        class="paste"
        onSubmit={(event) => {
          event.preventDefault()
          void action.run('Saved.', () => api.call('PATCH', '/api/agents/me', { policy }))
        }}
      >
        {kinds.map(([kind, label]) => (
          <div key={kind} class="field">
            <label for={`floor-${kind}`}>{label}</label>
            <select
              id={`floor-${kind}`}
              value={policy[kind]?.minAssurance ?? ''}
              onChange={(event) => setPolicy(withAssurance(policy, kind, event.currentTarget.value))}
            >
              {levelsOf(kind, policy[kind]?.minAssurance).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </div>
        ))}
        <ActionResult message={action.message} error={action.error} />
        <p>
          <button class="btn main" type="submit" disabled={action.busy}>
            Save the floor
          </button>
        </p>
      </form>
    </section>
  )
}
