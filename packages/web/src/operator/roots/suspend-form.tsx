import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { pluralize } from '../../shared/design/time.ts'
import { CheckboxField, SelectField, TextField } from '../fields.tsx'
import { ReasonField } from '../reason-field.tsx'
import type { RootSuspension } from '../wire.ts'
import { rootKinds } from './kinds.ts'

const credentialOptions = [
  ['keep', 'Stay as they are'],
  ['suspend', 'Are suspended'],
  ['revoke', 'Are revoked, for ever'],
] as const

type Draft = {
  readonly kind: string
  readonly name: string
  readonly credentials: string
  /** A day, from whose begin on nothing counts; empty for ever. */
  readonly from: string
  readonly reason: string
  readonly isSure: boolean
}
const emptyDraft: Draft = {
  kind: 'authenticator',
  name: '',
  credentials: 'keep',
  from: '',
  reason: '',
  isSure: false,
}

const devices: readonly string[] = ['authenticator', 'app', 'network']
/** An issuer may have lost its key at a known time: what it checked before stays. */
const fromOf = ({ kind, from }: Draft): { readonly from?: string } =>
  devices.includes(kind) || from.trim() === '' ? {} : { from: `${from.trim()}T00:00:00Z` }

/** Sends one call for every 100 credentials, until none is left. */
const suspendAll = async (api: Api, draft: Draft, onProgress: (changed: number) => void): Promise<void> => {
  let changed = 0
  let after: string | undefined
  do {
    const answer: RootSuspension = await api.call('POST', '/operator/roots/suspend', {
      kind: draft.kind,
      name: draft.name.trim(),
      credentials: draft.credentials,
      reason: draft.reason.trim(),
      ...fromOf(draft),
      ...(after === undefined ? {} : { after }),
    })
    changed += answer.credentials
    onProgress(changed)
    after = answer.next ?? undefined
  } while (after !== undefined)
}

type FieldsProps = { readonly draft: Draft; readonly set: (part: Partial<Draft>) => void }

const SuspendFields = ({ draft, set }: FieldsProps) => (
  <>
    <SelectField
      id="root-kind"
      label="Kind"
      options={rootKinds.map(([kind, name]) => [kind, name] as const)}
      value={draft.kind}
      onValue={(kind) => set({ kind })}
    />
    <TextField
      id="root-name"
      label="Name"
      hint={rootKinds.find(([kind]) => kind === draft.kind)?.[2] ?? ''}
      maxLength={200}
      value={draft.name}
      onValue={(name) => set({ name })}
    />
    {devices.includes(draft.kind) ? null : (
      <TextField
        id="root-from"
        label="From this day on, optional"
        hint="YYYY-MM-DD in UTC: what the issuer checked before stays"
        maxLength={10}
        required={false}
        pattern="\d{4}-\d{2}-\d{2}"
        value={draft.from}
        onValue={(from) => set({ from })}
      />
    )}
    <SelectField
      id="root-credentials"
      label="Credentials that rest on it"
      options={credentialOptions}
      value={draft.credentials}
      onValue={(credentials) => set({ credentials, isSure: false })}
    />
    <ReasonField id="root-reason" value={draft.reason} onValue={(reason) => set({ reason })} />
    {draft.credentials === 'keep' ? null : (
      <CheckboxField
        id="root-sure"
        label={`I am sure: every credential that rests on it ${draft.credentials === 'revoke' ? 'is revoked for ever' : 'is suspended'}`}
        value={draft.isSure}
        onValue={(isSure) => set({ isSure })}
      />
    )}
  </>
)

/** Suspends a root, and what rests on it. */
export const SuspendForm = ({ api, action }: { api: Api; action: Action }) => {
  const [draft, setDraft] = useState(emptyDraft)
  const [changed, setChanged] = useState(0)
  const set = (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part }))
  // A network itself cannot be suspended: only its credentials can.
  const mayChange = draft.credentials === 'keep' ? draft.kind !== 'network' : draft.isSure
  const suspend = async () => {
    setChanged(0)
    const message =
      draft.kind === 'network' ? 'The credentials of the network are changed.' : 'The root is suspended.'
    if (await action.run(message, () => suspendAll(api, draft, setChanged))) setDraft(emptyDraft)
  }
  return (
    <section class="card pad" aria-labelledby="suspend">
      <h2 class="h3" id="suspend">
        Suspend a root
      </h2>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          void suspend()
        }}
      >
        <SuspendFields draft={draft} set={set} />
        <p class="small muted" role="status">
          {changed === 0 ? '' : `${pluralize(changed, 'credential')} changed so far.`}
        </p>
        <p>
          <button class="btn stop" type="submit" disabled={action.busy || !mayChange}>
            {draft.kind === 'network' ? 'Change the credentials' : 'Suspend the root'}
          </button>
        </p>
      </form>
    </section>
  )
}
