import type { ComponentChildren } from 'preact'
import { TextAreaField, NumberField, SelectField, TextField, CheckboxField } from './fields.tsx'
import {
  answerTypes,
  inputTypes,
  keyFromLabel,
  replaceAt,
  removeAt,
  type AnswerField,
  type InputField,
} from './forms.ts'

type NamedField = { readonly name: string; readonly label: string }
type FieldListProps<T> = {
  readonly id: string
  readonly fields: readonly T[]
  readonly onFields: (fields: T[]) => void
  /** Keys of existing answers: they do not change with the label. */
  readonly inUse?: ReadonlySet<string> | undefined
}

const namePattern = '[a-z][a-z0-9_]{0,39}'

/** Label and key of a field. The key follows the label until somebody writes one. */
const FieldNameInputs = <T extends NamedField>(props: {
  id: string
  field: T
  inUse: ReadonlySet<string> | undefined
  onField: (field: T) => void
}) => {
  const { id, field, inUse, onField } = props
  const follows = field.name === '' || (field.name === keyFromLabel(field.label) && !inUse?.has(field.name))
  return (
    <div class="pairs">
      <TextField
        id={`${id}-label`}
        label="Label"
        hint="shown to workers"
        maxLength={200}
        value={field.label}
        onValue={(label) => onField({ ...field, label, ...(follows ? { name: keyFromLabel(label) } : {}) })}
      />
      <TextField
        id={`${id}-name`}
        label="Key"
        hint="in the data"
        maxLength={40}
        pattern={namePattern}
        value={field.name}
        onValue={(name) => onField({ ...field, name })}
      />
    </div>
  )
}

const FieldSet = (props: { legend: string; onRemove: () => void; children: ComponentChildren }) => (
  <fieldset class="part">
    <legend>{props.legend}</legend>
    {props.children}
    <p>
      <button type="button" class="btn" onClick={props.onRemove}>
        Remove<span class="hidden"> {props.legend}</span>
      </button>
    </p>
  </fieldset>
)

const typeOptions = (types: Readonly<Record<string, string>>) => Object.entries(types)

/** The input form, as the worker sees it. */
export const InputEditor = ({ id, fields, onFields, inUse }: FieldListProps<InputField>) => (
  <div class="parts">
    {fields.map((field, index) => {
      const own = `${id}-${index}`
      const set = (next: InputField) => onFields(replaceAt(fields, index, next))
      return (
        <FieldSet
          key={own}
          legend={`Input field ${index + 1}`}
          onRemove={() => onFields(removeAt(fields, index))}
        >
          <FieldNameInputs id={own} field={field} inUse={inUse} onField={set} />
          <div class="pairs">
            <SelectField
              id={`${own}-type`}
              label="Type"
              options={typeOptions(inputTypes)}
              value={field.type}
              onValue={(type) => set({ ...field, type: type as InputField['type'] })}
            />
            <CheckboxField
              id={`${own}-required`}
              label="Required"
              value={field.required}
              onValue={(required) => set({ ...field, required })}
            />
          </div>
        </FieldSet>
      )
    })}
    {fields.length < 10 ? (
      <p>
        <button
          type="button"
          class="btn"
          onClick={() => onFields([...fields, { name: '', label: '', type: 'text', required: true }])}
        >
          Add an input field
        </button>
      </p>
    ) : null}
  </div>
)

const FieldTypeOptions = (props: {
  id: string
  field: AnswerField
  onField: (field: AnswerField) => void
}) => {
  const { id, field, onField } = props
  const [low, high] = field.ends ?? ['', '']
  if (field.type === 'choice' || field.type === 'many')
    return (
      <TextAreaField
        id={`${id}-options`}
        label="Choices"
        hint="one on each line, 2 to 20"
        rows={4}
        value={(field.options ?? []).join('\n')}
        onValue={(text) => onField({ ...field, options: text.split('\n') })}
      />
    )
  if (field.type === 'scale')
    return (
      <div class="pairs three">
        <NumberField
          id={`${id}-steps`}
          label="From 1 to"
          min={2}
          max={10}
          value={String(field.steps ?? 5)}
          onValue={(steps) => onField({ ...field, steps: Number(steps) })}
        />
        <TextField
          id={`${id}-low`}
          label="1 means"
          required={high !== ''}
          maxLength={60}
          value={low}
          onValue={(text) => onField({ ...field, ends: [text, high] })}
        />
        <TextField
          id={`${id}-high`}
          label="The other end means"
          required={low !== ''}
          maxLength={60}
          value={high}
          onValue={(text) => onField({ ...field, ends: [low, text] })}
        />
      </div>
    )
  if (field.type === 'yes_no') return null
  return (
    <NumberField
      id={`${id}-length`}
      label="At most"
      hint="characters"
      min={1}
      max={10_000}
      value={String(field.maxLength ?? (field.type === 'line' ? 200 : 2_000))}
      onValue={(length) => onField({ ...field, maxLength: Number(length) })}
    />
  )
}

/** The answer form, as the worker fills it in. */
export const AnswerEditor = ({ id, fields, onFields, inUse }: FieldListProps<AnswerField>) => (
  <div class="parts">
    {fields.map((field, index) => {
      const own = `${id}-${index}`
      const set = (next: AnswerField) => onFields(replaceAt(fields, index, next))
      return (
        <FieldSet
          key={own}
          legend={`Answer field ${index + 1}`}
          onRemove={() => onFields(removeAt(fields, index))}
        >
          <FieldNameInputs id={own} field={field} inUse={inUse} onField={set} />
          <div class="pairs">
            <SelectField
              id={`${own}-type`}
              label="Type"
              options={typeOptions(answerTypes)}
              value={field.type}
              onValue={(type) => set({ ...field, type: type as AnswerField['type'] })}
            />
            <CheckboxField
              id={`${own}-required`}
              label="Required"
              value={field.required}
              onValue={(required) => set({ ...field, required })}
            />
          </div>
          <FieldTypeOptions id={own} field={field} onField={set} />
          <TextField
            id={`${own}-help`}
            label="Help"
            hint="optional"
            required={false}
            maxLength={300}
            value={field.help ?? ''}
            onValue={(help) => set({ ...field, help })}
          />
        </FieldSet>
      )
    })}
    {fields.length < 20 ? (
      <p>
        <button
          type="button"
          class="btn"
          onClick={() => onFields([...fields, { name: '', label: '', type: 'choice', required: true }])}
        >
          Add an answer field
        </button>
      </p>
    ) : null}
  </div>
)
