import { useEffect, useRef, useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { ActionTypeRecord } from '../wire.ts'
import { labelsOf, objectOf } from './messages.ts'
import { Field, OwnerHint } from './parts.tsx'

type Policy = ActionTypeRecord['policy']
const numbers = [
  { name: 'quorum', label: 'People who must approve', min: 1, max: 10 },
  { name: 'minSeconds', label: 'Seconds in view before an approval', min: 0, max: 600 },
  { name: 'delaySeconds', label: 'Seconds in which an approver can still object', min: 0, max: 86_400 },
] as const

const exampleSchema = JSON.stringify(
  {
    type: 'object',
    properties: { amount: { type: 'string' }, recipient: { type: 'string' } },
    required: ['amount', 'recipient'],
    additionalProperties: false,
  },
  undefined,
  2,
)

type Values = {
  readonly type: string
  readonly title: string
  readonly schema: string
  readonly labels: string
  readonly critical: string
  readonly policy: Policy
}
const emptyValues: Values = {
  type: '',
  title: '',
  schema: exampleSchema,
  labels: '/amount | Amount\n/recipient | Account of the recipient',
  critical: '/amount\n/recipient',
  policy: { quorum: 1, minSeconds: 5, passkey: 'any', delaySeconds: 0 },
}
const valuesOf = (record: ActionTypeRecord): Values => ({
  type: record.type,
  title: record.title,
  schema: JSON.stringify(record.schema, undefined, 2),
  labels: Object.entries(record.labels)
    .map(([pointer, label]) => `${pointer} | ${label}`)
    .join('\n'),
  critical: record.critical.join('\n'),
  policy: record.policy,
})

const PolicyFields = ({ policy, onChange }: { policy: Policy; onChange: (policy: Policy) => void }) => (
  <>
    {numbers.map(({ name, label, min, max }) => (
      <label key={name}>
        {label}
        <input
          type="number"
          required
          min={min}
          max={max}
          value={policy[name]}
          onInput={(event) => onChange({ ...policy, [name]: event.currentTarget.valueAsNumber })}
        />
      </label>
    ))}
    <label for="type-passkey">Passkey</label>
    <select
      id="type-passkey"
      value={policy.passkey}
      onChange={(event) => onChange({ ...policy, passkey: event.currentTarget.value as Policy['passkey'] })}
    >
      <option value="any">any passkey</option>
      <option value="device_bound">only in hardware that does not copy it</option>
    </select>
  </>
)

const NameFields = (props: { values: Values; isNew: boolean; onChange: (values: Values) => void }) => (
  <>
    <Field id="type-name" label="Type" hint="lower case words with dots">
      <input
        id="type-name"
        required
        readOnly={!props.isNew}
        maxLength={160}
        pattern="[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*"
        placeholder="invoice.pay"
        autocomplete="off"
        value={props.values.type}
        onInput={(event) => props.onChange({ ...props.values, type: event.currentTarget.value })}
      />
    </Field>
    <Field id="type-title" label="Title" hint="what approvers read first">
      <input
        id="type-title"
        required
        maxLength={100}
        placeholder="Pay an invoice"
        autocomplete="off"
        value={props.values.title}
        onInput={(event) => props.onChange({ ...props.values, title: event.currentTarget.value })}
      />
    </Field>
  </>
)

type TextName = 'schema' | 'labels' | 'critical'
const texts: readonly {
  readonly name: TextName
  readonly label: string
  readonly hint: string
  readonly rows: number
}[] = [
  { name: 'schema', label: 'JSON Schema', hint: '2020-12, without references', rows: 10 },
  { name: 'labels', label: 'Labels', hint: 'a JSON Pointer, a bar and a label on each line', rows: 3 },
  {
    name: 'critical',
    label: 'Critical fields',
    hint: 'a JSON Pointer on each line, in the order in which they are shown',
    rows: 3,
  },
]
type FieldFaults = Partial<Record<TextName, string>>

const TextFields = (props: { values: Values; faults: FieldFaults; onChange: (values: Values) => void }) => (
  <>
    {texts.map(({ name, label, hint, rows }) => (
      <Field key={name} id={`type-${name}`} label={label} hint={hint} fault={props.faults[name] ?? ''}>
        <textarea
          id={`type-${name}`}
          required={name !== 'labels'}
          rows={rows}
          spellcheck={false}
          value={props.values[name]}
          aria-invalid={props.faults[name] !== undefined}
          onInput={(event) => props.onChange({ ...props.values, [name]: event.currentTarget.value })}
        />
      </Field>
    ))}
  </>
)

/** What is sent; the faults of the fields where they cannot be read. */
const bodyOf = ({
  title,
  schema,
  labels,
  critical,
  policy,
}: Values): { body: object } | { faults: FieldFaults } => {
  const schemaValue = objectOf(schema)
  const labelValue = labelsOf(labels)
  if (typeof schemaValue === 'string' || typeof labelValue === 'string')
    return {
      faults: {
        ...(typeof schemaValue === 'string' ? { schema: schemaValue } : {}),
        ...(typeof labelValue === 'string' ? { labels: labelValue } : {}),
      },
    }
  const pointers = critical
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return {
    body: { title: title.trim(), schema: schemaValue, labels: labelValue, critical: pointers, policy },
  }
}

/** The form for an action type, or for a new version of one. */
export const TypeForm = (props: {
  api: Api
  edited: ActionTypeRecord | undefined
  busy: boolean
  onWrite: (type: string, body: object) => Promise<boolean>
}) => {
  const { api, edited } = props
  const [values, setValues] = useState<Values>(edited ? valuesOf(edited) : emptyValues)
  const [faults, setFaultsOf] = useState<FieldFaults>({})
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (edited) heading.current?.focus()
  }, [])
  const submit = async (event: Event) => {
    event.preventDefault()
    const read = bodyOf(values)
    setFaultsOf('faults' in read ? read.faults : {})
    if ('body' in read && (await props.onWrite(values.type.trim(), read.body))) setValues(emptyValues)
  }
  return (
    <section class="card pad" aria-labelledby="type-form">
      <h2 class="h3" id="type-form" ref={heading} tabIndex={-1}>
        {edited ? `A new version of ${edited.type}` : 'Register an action type'}
      </h2>
      <OwnerHint api={api} />
      <form class="paste" onSubmit={(event) => void submit(event)}>
        <NameFields values={values} isNew={edited === undefined} onChange={setValues} />
        <TextFields values={values} faults={faults} onChange={setValues} />
        <PolicyFields policy={values.policy} onChange={(policy) => setValues({ ...values, policy })} />
        <p>
          <button class="btn main" type="submit" disabled={props.busy}>
            {edited ? 'Register the new version' : 'Register the type'}
          </button>
        </p>
      </form>
    </section>
  )
}
