import type { WorkflowTerms } from '@pohf/protocol'
import { TextAreaField, SelectField, TextField, CheckboxField } from '../fields.tsx'
import { replaceAt, removeAt, type AnswerField, type InputField } from '../forms.ts'

type KnownAnswerItem = WorkflowTerms['gold'][number]
type Values = Readonly<Record<string, unknown>>

const valuesOf = (value: unknown): Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {}
/** The values with one of them set, or removed where it is empty. */
const withValue = (values: unknown, name: string, value: unknown): Values => {
  const { [name]: _, ...rest } = valuesOf(values)
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
    ? rest
    : { ...rest, [name]: value }
}
const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''

const KnownAnswerField = (props: {
  id: string
  field: AnswerField
  value: unknown
  onValue: (value: unknown) => void
}) => {
  const { id, field, value, onValue } = props
  const any = ['', 'any answer'] as const
  if (field.type === 'yes_no')
    return (
      <SelectField
        id={id}
        label={field.label}
        options={[any, ['true', 'yes'], ['false', 'no']]}
        value={typeof value === 'boolean' ? String(value) : ''}
        onValue={(text) => onValue(text === '' ? undefined : text === 'true')}
      />
    )
  if (field.type === 'scale' || field.type === 'choice') {
    const choices =
      field.type === 'choice'
        ? (field.options ?? []).filter((option) => option.trim() !== '')
        : Array.from({ length: field.steps ?? 5 }, (_, index) => String(index + 1))
    return (
      <SelectField
        id={id}
        label={field.label}
        options={[any, ...choices.map((choice) => [choice, choice] as const)]}
        value={textOf(value)}
        onValue={(text) => onValue(text === '' ? undefined : field.type === 'scale' ? Number(text) : text)}
      />
    )
  }
  if (field.type === 'many') {
    const chosen = Array.isArray(value) ? (value as string[]) : []
    return (
      <fieldset class="part plainset">
        <legend>{field.label}</legend>
        {(field.options ?? [])
          .filter((option) => option.trim() !== '')
          .map((option, index) => (
            <CheckboxField
              key={option}
              id={`${id}-${index}`}
              label={option}
              value={chosen.includes(option)}
              onValue={(on) => onValue(on ? [...chosen, option] : chosen.filter((one) => one !== option))}
            />
          ))}
      </fieldset>
    )
  }
  const Part = field.type === 'line' ? TextField : TextAreaField
  return <Part id={id} label={field.label} required={false} value={textOf(value)} onValue={onValue} />
}

type FormFields = {
  readonly inputs: readonly InputField[]
  readonly answers: readonly AnswerField[]
}

const ItemEditor = (
  props: FormFields & {
    readonly index: number
    readonly item: KnownAnswerItem
    readonly onItem: (item: KnownAnswerItem) => void
    readonly onRemove: () => void
  },
) => {
  const { inputs, answers, index, item, onItem } = props
  const id = `known-${index}`
  return (
    <fieldset class="part">
      <legend>Known-answer item {index + 1}</legend>
      <div class="pairs top">
        <div class="stack">
          {inputs.map((field) => (
            <TextField
              key={field.name}
              id={`${id}-in-${field.name}`}
              label={field.label}
              hint="input"
              required={field.required}
              value={textOf(valuesOf(item.input)[field.name])}
              onValue={(text) => onItem({ ...item, input: withValue(item.input, field.name, text) })}
            />
          ))}
          {inputs.length === 0 ? <p class="muted">This workflow has no input fields.</p> : null}
        </div>
        <div class="stack">
          {answers.map((field) => (
            <KnownAnswerField
              key={field.name}
              id={`${id}-out-${field.name}`}
              field={field}
              value={valuesOf(item.answer)[field.name]}
              onValue={(value) => onItem({ ...item, answer: withValue(item.answer, field.name, value) })}
            />
          ))}
        </div>
      </div>
      <p>
        <button type="button" class="btn" onClick={props.onRemove}>
          Remove<span class="hidden"> known-answer item {index + 1}</span>
        </button>
      </p>
    </fieldset>
  )
}

/** Known-answer items, edited with the same forms that people see. */
export const KnownAnswersEditor = (
  props: FormFields & {
    readonly items: readonly KnownAnswerItem[]
    readonly onItems: (items: KnownAnswerItem[]) => void
  },
) => {
  const { inputs, answers, items, onItems } = props
  return (
    <div class="parts">
      {items.map((item, index) => (
        <ItemEditor
          key={`known-${index}`}
          inputs={inputs}
          answers={answers}
          index={index}
          item={item}
          onItem={(next) => onItems(replaceAt(items, index, next))}
          onRemove={() => onItems(removeAt(items, index))}
        />
      ))}
      {items.length < 100 ? (
        <p>
          <button type="button" class="btn" onClick={() => onItems([...items, { input: {}, answer: {} }])}>
            Add a known-answer item
          </button>
        </p>
      ) : null}
    </div>
  )
}
