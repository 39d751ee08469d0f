import type { ComponentChildren } from 'preact'

type FieldProps = {
  readonly id: string
  readonly label: ComponentChildren
  readonly hint?: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly required?: boolean
  readonly maxLength?: number
  readonly placeholder?: string
}

const Label = ({ id, label, hint }: Pick<FieldProps, 'id' | 'label' | 'hint'>) => (
  <label for={id}>
    {label}
    {hint === undefined ? null : <span class="faint"> {hint}</span>}
  </label>
)

/** A line of text with its name above it. */
export const TextField = (props: FieldProps & { pattern?: string; readOnly?: boolean }) => (
  <div class="field">
    <Label {...props} />
    <input
      id={props.id}
      required={props.required ?? true}
      maxLength={props.maxLength}
      placeholder={props.placeholder}
      pattern={props.pattern}
      readOnly={props.readOnly}
      autocomplete="off"
      value={props.value}
      onInput={(event) => props.onValue(event.currentTarget.value)}
    />
  </div>
)

/** Some lines of text. */
export const TextAreaField = (props: FieldProps & { rows?: number }) => (
  <div class="field">
    <Label {...props} />
    <textarea
      id={props.id}
      required={props.required ?? true}
      rows={props.rows ?? 3}
      maxLength={props.maxLength}
      placeholder={props.placeholder}
      value={props.value}
      onInput={(event) => props.onValue(event.currentTarget.value)}
    />
  </div>
)

export const NumberField = (props: FieldProps & { min: number; max: number; step?: number }) => (
  <div class="field">
    <Label {...props} />
    <input
      id={props.id}
      type="number"
      required={props.required ?? true}
      min={props.min}
      max={props.max}
      step={props.step ?? 1}
      value={props.value}
      onInput={(event) => props.onValue(event.currentTarget.value)}
    />
  </div>
)

export const SelectField = (
  props: Omit<FieldProps, 'required' | 'maxLength' | 'placeholder'> & {
    options: readonly (readonly [value: string, words: string])[]
  },
) => (
  <div class="field">
    <Label {...props} />
    <select id={props.id} value={props.value} onChange={(event) => props.onValue(event.currentTarget.value)}>
      {props.options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  </div>
)

export const CheckboxField = (props: {
  id: string
  label: string
  value: boolean
  onValue: (value: boolean) => void
}) => (
  <label class="agree" for={props.id}>
    <input
      id={props.id}
      type="checkbox"
      checked={props.value}
      onChange={(event) => props.onValue(event.currentTarget.checked)}
    />
    <span>{props.label}</span>
  </label>
)
