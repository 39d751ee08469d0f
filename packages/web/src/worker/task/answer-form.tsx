import type { ComponentChildren } from 'preact'
import type { Values } from '../draft.ts'
import { lengthMaxOf, type FieldError } from '../fields.ts'
import type { AnswerField } from '../wire.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import type { Messages } from '../messages.ts'

type FieldProps = {
  readonly messages: Messages
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

const Label = ({ messages, field }: FieldProps) => (
  <>
    {field.label}
    {field.required ? null : <span class="small muted"> ({messages.task.optional})</span>}
  </>
)

const Notes = ({ messages, field, fault }: FieldProps) => (
  <>
    {field.help === undefined ? null : (
      <p class="small muted" id={`${fieldId(field)}-help`}>
        {field.help}
      </p>
    )}
    {fault ? (
      <p class="bad" id={`${fieldId(field)}-fault`}>
        {fault === 'missing'
          ? messages.task.missing
          : fillPlaceholders(messages.task.tooLong, { n: lengthMaxOf(field) })}
      </p>
    ) : null}
  </>
)

const Group = ({
  props,
  kind,
  children,
}: {
  props: FieldProps
  kind: string
  children: ComponentChildren
}) => (
  <fieldset
    class="field"
    aria-describedby={describedBy(props)}
    {...(kind === 'many' ? {} : { role: 'radiogroup', 'aria-required': props.field.required })}
    {...(props.fault && kind !== 'many' ? { 'aria-invalid': true } : {})}
  >
    <legend>
      <Label {...props} />
    </legend>
    <Notes {...props} />
    {children}
  </fieldset>
)

type Option = { readonly value: unknown; readonly text: string }

/** How many options are side by side on a wide screen, and on a narrow one. */
const columnsOf = (count: number) => ({
  '--all': count,
  '--half': count > 6 ? Math.ceil(count / 2) : count,
})

const Options = ({
  props,
  options,
  look,
}: {
  props: FieldProps
  options: readonly Option[]
  look: string
}) => {
  const { field, value, onValue } = props
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

const TextInput = (props: FieldProps) => {
  const { messages, field, value, fault, onValue } = props
  const text = typeof value === 'string' ? value : ''
  const max = lengthMaxOf(field)
  const shared = {
    id: fieldId(field),
    value: text,
    'aria-describedby': describedBy(props),
    'aria-invalid': fault !== undefined,
    'aria-required': field.required,
  }
  return (
    <div class="field">
      <label for={fieldId(field)}>
        <Label {...props} />
      </label>
      <Notes {...props} />
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
        <p class="small muted num">{fillPlaceholders(messages.task.atMost, { n: text.length, of: max })}</p>
      ) : null}
    </div>
  )
}

const Field = (props: FieldProps) => {
  const { messages, field } = props
  if (field.type === 'line' || field.type === 'paragraph') return <TextInput {...props} />
  if (field.type === 'yes_no')
    return (
      <Group props={props} kind="yes_no">
        <Options
          props={props}
          look="pair"
          options={[
            { value: true, text: messages.task.yes },
            { value: false, text: messages.task.no },
          ]}
        />
      </Group>
    )
  if (field.type === 'scale') {
    const steps = Array.from({ length: field.steps ?? 5 }, (_, index) => index + 1)
    return (
      <Group props={props} kind="scale">
        {field.ends ? (
          <p class="ends small muted">
            <span>1: {field.ends[0]}</span>
            <span>
              {steps.length}: {field.ends[1]}
            </span>
          </p>
        ) : null}
        <Options
          props={props}
          look="scale"
          options={steps.map((step) => ({ value: step, text: String(step) }))}
        />
      </Group>
    )
  }
  return (
    <Group props={props} kind={field.type}>
      <Options
        props={props}
        look="list"
        options={(field.options ?? []).map((option) => ({ value: option, text: option }))}
      />
    </Group>
  )
}

/** The whole answer: one part for each field, in the order of the form. */
export const AnswerForm = ({
  messages,
  form,
  values,
  faults,
  onValues,
}: {
  messages: Messages
  form: readonly AnswerField[]
  values: Values
  faults: ReadonlyMap<string, FieldError>
  onValues: (values: Values) => void
}) => (
  <section class="card pad answer" aria-labelledby="answer">
    <h2 class="h3" id="answer">
      {messages.task.answer}
    </h2>
    {form.map((field) => (
      <Field
        key={field.name}
        messages={messages}
        field={field}
        value={values[field.name]}
        fault={faults.get(field.name)}
        onValue={(value) => onValues({ ...values, [field.name]: value })}
      />
    ))}
  </section>
)
