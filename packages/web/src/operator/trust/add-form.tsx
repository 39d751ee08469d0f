import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { CheckboxField, SelectField, TextField } from '../fields.tsx'
import { ReasonField } from '../reason-field.tsx'
import { trustKinds } from './kinds.ts'

const modeOptions = [
  ['test', 'Test: nobody pays'],
  ['live', 'Live: a person pays by card'],
] as const

type Draft = {
  readonly kind: string
  readonly name: string
  readonly keysUrl: string
  readonly mode: string
  readonly requireDigest: boolean
  readonly reason: string
}
const emptyDraft: Draft = {
  kind: 'directory',
  name: '',
  keysUrl: '',
  mode: 'test',
  requireDigest: false,
  reason: '',
}

type FieldsProps = { readonly draft: Draft; readonly set: (part: Partial<Draft>) => void }

const AddFields = ({ draft, set }: FieldsProps) => (
  <>
    <SelectField
      id="trust-kind"
      label="Kind"
      options={trustKinds.map(([kind, name]) => [kind, name] as const)}
      value={draft.kind}
      onValue={(kind) => set({ kind })}
    />
    <TextField
      id="trust-name"
      label="Name"
      hint={trustKinds.find(([kind]) => kind === draft.kind)?.[2] ?? ''}
      maxLength={200}
      value={draft.name}
      onValue={(name) => set({ name })}
    />
    {draft.kind === 'directory' ? null : (
      <TextField
        id="trust-keys-url"
        label="Address of the key set"
        hint="https"
        maxLength={500}
        value={draft.keysUrl}
        onValue={(keysUrl) => set({ keysUrl })}
      />
    )}
    <SelectField
      id="trust-mode"
      label="Mode of its orders"
      options={modeOptions}
      value={draft.mode}
      onValue={(mode) => set({ mode })}
    />
    {draft.kind === 'issuer' ? null : (
      <CheckboxField
        id="trust-digest"
        label="Refuse signatures that do not cover the body"
        value={draft.requireDigest}
        onValue={(requireDigest) => set({ requireDigest })}
      />
    )}
    <ReasonField id="trust-reason" value={draft.reason} onValue={(reason) => set({ reason })} />
  </>
)

/** Adds a trust root. */
export const AddForm = ({ api, action }: { api: Api; action: Action }) => {
  const [draft, setDraft] = useState(emptyDraft)
  const set = (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part }))
  const add = async () => {
    const { kind, mode, keysUrl, requireDigest } = draft
    const name = draft.name.trim()
    const isAdded = await action.run(`${name} is trusted.`, () =>
      api.call('POST', '/operator/trust', {
        kind,
        name,
        mode,
        requireDigest: kind !== 'issuer' && requireDigest,
        reason: draft.reason.trim(),
        ...(kind === 'directory' ? {} : { keysUrl: keysUrl.trim() }),
      }),
    )
    if (isAdded) setDraft(emptyDraft)
  }
  return (
    <section class="card pad" aria-labelledby="add-trust">
      <h2 class="h3" id="add-trust">
        Add a trust root
      </h2>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          void add()
        }}
      >
        <AddFields draft={draft} set={set} />
        <p>
          <button class="btn main" type="submit" disabled={action.busy}>
            Trust it
          </button>
        </p>
      </form>
    </section>
  )
}
