import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { ActionTypeRecord, Approver } from '../wire.ts'
import { objectOf } from './messages.ts'
import { Field, OwnerHint, PeopleChoice } from './parts.tsx'
import type { NewKnownBad } from './send-known-bad.ts'

/** An example of the fields that the schema of a type has at its top. */
const exampleOf = (record: ActionTypeRecord | undefined): string => {
  const properties = record?.schema['properties']
  const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, ''])), undefined, 2)
}

const lines = [
  {
    name: 'reason',
    label: 'Why it should be denied',
    hint: 'approvers read it once the request is over',
    max: 500,
    isRequired: true,
  },
  {
    name: 'requestId',
    label: 'Reference',
    hint: 'as your agent writes them; optional',
    max: 128,
    isRequired: false,
  },
  { name: 'title', label: 'Title in the words of the agent', hint: 'optional', max: 200, isRequired: false },
  {
    name: 'summary',
    label: 'Summary in the words of the agent',
    hint: 'optional',
    max: 2_000,
    isRequired: false,
  },
] as const
type Texts = Readonly<Record<(typeof lines)[number]['name'], string>>
const noTexts: Texts = { reason: '', requestId: '', title: '', summary: '' }

const TextLines = ({ texts, onChange }: { texts: Texts; onChange: (texts: Texts) => void }) => (
  <>
    {lines.map(({ name, label, hint, max, isRequired }) => (
      <Field key={name} id={`bad-${name}`} label={label} hint={hint}>
        <input
          id={`bad-${name}`}
          required={isRequired}
          maxLength={max}
          autocomplete="off"
          value={texts[name]}
          onInput={(event) => onChange({ ...texts, [name]: event.currentTarget.value })}
        />
      </Field>
    ))}
  </>
)

const filled = (texts: Texts): Partial<Texts> & { readonly reason: string } => ({
  ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== '')),
  reason: texts.reason.trim(),
})

const TypeSelect = (props: {
  types: readonly ActionTypeRecord[]
  type: string
  onType: (type: string) => void
}) => (
  <>
    <label for="bad-type">Action type</label>
    <select id="bad-type" value={props.type} onChange={(event) => props.onType(event.currentTarget.value)}>
      {props.types.map((one) => (
        <option key={one.type} value={one.type}>
          {one.title} ({one.type})
        </option>
      ))}
    </select>
  </>
)

const ActionField = (props: { text: string; fault: string; onInput: (text: string) => void }) => (
  <Field id="bad-action" label="Action" hint="a JSON object that fits the schema" fault={props.fault}>
    <textarea
      id="bad-action"
      required
      rows={6}
      spellcheck={false}
      value={props.text}
      aria-invalid={props.fault !== ''}
      onInput={(event) => props.onInput(event.currentTarget.value)}
    />
  </Field>
)

const FormHead = ({ api }: { api: Api }) => (
  <>
    <h2 class="h3" id="known-bad-form">
      Send a known-bad request
    </h2>
    <OwnerHint api={api} />
    <p class="muted gap">
      Take a real request and make one thing wrong that a person who reads would see: another account, an
      amount of ten times, a supplier that does not exist. A person needs 10 of them before figures of their
      own are shown.
    </p>
  </>
)

/** The form that sends a known-bad request. */
export const KnownBadForm = (props: {
  api: Api
  types: readonly ActionTypeRecord[]
  people: readonly Approver[]
  busy: boolean
  onSend: (request: NewKnownBad) => Promise<boolean>
}) => {
  const { api, types, people } = props
  const [type, setType] = useState(types[0]?.type ?? '')
  const record = types.find((one) => one.type === type)
  const [action, setAction] = useState(exampleOf(record))
  const [fault, setFault] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [texts, setTexts] = useState<Texts>(noTexts)
  const quorum = record?.policy.quorum ?? 1
  const submit = async (event: Event) => {
    event.preventDefault()
    const value = objectOf(action)
    setFault(typeof value === 'string' ? value : '')
    if (typeof value === 'string') return
    if (await props.onSend({ type, quorum, action: value, approvers: chosen, ...filled(texts) }))
      setTexts(noTexts)
  }
  return (
    <section class="card pad" aria-labelledby="known-bad-form">
      <FormHead api={api} />
      <form class="paste" onSubmit={(event) => void submit(event)}>
        <TypeSelect
          types={types}
          type={type}
          onType={(next) => {
            setType(next)
            setAction(exampleOf(types.find((one) => one.type === next)))
          }}
        />
        <ActionField text={action} fault={fault} onInput={setAction} />
        <TextLines texts={texts} onChange={setTexts} />
        <PeopleChoice
          legend={
            quorum === 1 ? 'To, each with a request of their own' : `To, together: at least ${quorum} people`
          }
          people={people}
          chosen={chosen}
          onChange={setChosen}
        />
        <p>
          <button
            class="btn main"
            type="submit"
            disabled={props.busy || chosen.length < quorum || chosen.length > 10}
          >
            {chosen.length > 1 && quorum === 1 ? `Send ${chosen.length} requests` : 'Send the request'}
          </button>
        </p>
      </form>
    </section>
  )
}
