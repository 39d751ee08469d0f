import type { ComponentChildren } from 'preact'
import type { Values } from './draft.ts'
import { lengthMaxOf, type FieldError } from './fields.ts'
import type { AnswerField } from './wire.ts'
import { fill, type Messages } from './messages.ts'

type FieldProps = {
  readonly words: Messages
  readonly field: AnswerField
  readonly value: unknown
  readonly fault: FieldError | undefined
  readonly onValue: (value: unknown) => void
}
export const fieldId = (field: AnswerField): string => `f-${field.name}`

const describedBy = ({ field, fault }: FieldProps): string | undefined =>
  [field.help === undefined ? '' : `${fieldId(field)}-help`, fault ? `${fieldId(field)}-fault` : '']
    .filter((id) => id !== '')
    .join(' ') || undefined

const Label = ({ words, field }: FieldProps) => (
  <>
    {field.label}
    {field.required ? null : <span class="small muted"> ({words.task.optional})</span>}
  </>
)

const Notes = ({ words, field, fault }: FieldProps) => (
  <>
    {field.help === undefined ? null : (
      <p class="small muted" id={`${fieldId(field)}-help`}>
        {field.help}
      </p>
    )}
    {fault ? (
      <p class="bad" id={`${fieldId(field)}-fault`}>
        {fault === 'missing' ? words.task.missing : fill(words.task.tooLong, { n: lengthMaxOf(field) })}
      </p>
    ) : null}
  </>
)

const Group = ({
  given,
  kind,
  children,
}: {
  given: FieldProps
  kind: string
  children: ComponentChildren
}) => (
  <fieldset
    class="field"
    aria-describedby={describedBy(given)}
    {...(kind === 'many' ? {} : { role: 'radiogroup', 'aria-required': given.field.required })}
    {...(given.fault && kind !== 'many' ? { 'aria-invalid': true } : {})}
  >
    <legend>
      <Label {...given} />
    </legend>
    <Notes {...given} />
    {children}
  </fieldset>
)

type Option = { readonly value: unknown; readonly text: string }

/** So many stand side by side where there is room for all, and where there is not. */
const columnsOf = (count: number) => ({
  '--all': count,
  '--half': count > 6 ? Math.ceil(count / 2) : count,
})

const Options = ({
  given,
  options,
  look,
}: {
  given: FieldProps
  options: readonly Option[]
  look: string
}) => {
  const { field, value, onValue } = given
  const isMany = field.type === 'many'
  const chosen = (Array.isArray(value) ? value : []) as readonly unknown[]
  const toggle = (option: unknown, on: boolean) =>
    // In the order of the form, whatever the order of pressing.
    onValue(options.map((one) => one.value).filter((one) => (one === option ? on : chosen.includes(one))))
  return (
    <div class={`options ${look}`} style={columnsOf(options.length)}>
      {options.map((option, index) => (
        <label key={option.text} class="option">
          <input
            type={isMany ? 'checkbox' : 'radio'}
            id={index === 0 ? fieldId(field) : undefined}
            name={fieldId(field)}
            checked={isMany ? chosen.includes(option.value) : value === option.value}
            onChange={(event) =>
              isMany ? toggle(option.value, event.currentTarget.checked) : onValue(option.value)
            }
          />
          <span>{option.text}</span>
        </label>
      ))}
    </div>
  )
}

const TextInput = (given: FieldProps) => {
  const { words, field, value, fault, onValue } = given
  const text = typeof value === 'string' ? value : ''
  const max = lengthMaxOf(field)
  const shared = {
    id: fieldId(field),
    value: text,
    'aria-describedby': describedBy(given),
    'aria-invalid': fault !== undefined,
    'aria-required': field.required,
  }
  return (
    <div class="field">
      <label for={fieldId(field)}>
        <Label {...given} />
      </label>
      <Notes {...given} />
      {field.type === 'line' ? (
        <input
          {...shared}
          type="text"
          autocomplete="off"
          maxLength={max}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      ) : (
        <textarea {...shared} rows={5} onInput={(event) => onValue(event.currentTarget.value)} />
      )}
      {text.length > max * 0.8 ? (
        <p class="small muted num">{fill(words.task.atMost, { n: text.length, of: max })}</p>
      ) : null}
    </div>
  )
}

const Field = (given: FieldProps) => {
  const { words, field } = given
  if (field.type === 'line' || field.type === 'paragraph') return <TextInput {...given} />
  if (field.type === 'yes_no')
    return (
      <Group given={given} kind="yes_no">
        <Options
          given={given}
          look="pair"
          options={[
            { value: true, text: words.task.yes },
            { value: false, text: words.task.no },
          ]}
        />
      </Group>
    )
  if (field.type === 'scale') {
    const steps = Array.from({ length: field.steps ?? 5 }, (_, index) => index + 1)
    return (
      <Group given={given} kind="scale">
        {field.ends ? (
          <p class="ends small muted">
            <span>1: {field.ends[0]}</span>
            <span>
              {steps.length}: {field.ends[1]}
            </span>
          </p>
        ) : null}
        <Options
          given={given}
          look="scale"
          options={steps.map((step) => ({ value: step, text: String(step) }))}
        />
      </Group>
    )
  }
  return (
    <Group given={given} kind={field.type}>
      <Options
        given={given}
        look="list"
        options={(field.options ?? []).map((option) => ({ value: option, text: option }))}
      />
    </Group>
  )
}

/** The whole answer: one part for each field, in the order of the form. */
export const AnswerForm = ({
  words,
  form,
  values,
  faults,
  onValues,
}: {
  words: Messages
  form: readonly AnswerField[]
  values: Values
  faults: ReadonlyMap<string, FieldError>
  onValues: (values: Values) => void
}) => (
  <section class="card pad answer" aria-labelledby="answer">
    <h2 class="h3" id="answer">
      {words.task.answer}
    </h2>
    {form.map((field) => (
      <Field
        key={field.name}
        words={words}
        field={field}
        value={values[field.name]}
        fault={faults.get(field.name)}
        onValue={(value) => onValues({ ...values, [field.name]: value })}
      />
    ))}
  </section>
)
