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
export const TextField = (given: FieldProps & { pattern?: string; readOnly?: boolean }) => (
  <div class="field">
    <Label {...given} />
    <input
      id={given.id}
      required={given.required ?? true}
      maxLength={given.maxLength}
      placeholder={given.placeholder}
      pattern={given.pattern}
      readOnly={given.readOnly}
      autocomplete="off"
      value={given.value}
      onInput={(event) => given.onValue(event.currentTarget.value)}
    />
  </div>
)

/** Some lines of text. */
export const TextAreaField = (given: FieldProps & { rows?: number }) => (
  <div class="field">
    <Label {...given} />
    <textarea
      id={given.id}
      required={given.required ?? true}
      rows={given.rows ?? 3}
      maxLength={given.maxLength}
      placeholder={given.placeholder}
      value={given.value}
      onInput={(event) => given.onValue(event.currentTarget.value)}
    />
  </div>
)

export const NumberField = (given: FieldProps & { min: number; max: number; step?: number }) => (
  <div class="field">
    <Label {...given} />
    <input
      id={given.id}
      type="number"
      required={given.required ?? true}
      min={given.min}
      max={given.max}
      step={given.step ?? 1}
      value={given.value}
      onInput={(event) => given.onValue(event.currentTarget.value)}
    />
  </div>
)

export const SelectField = (
  given: Omit<FieldProps, 'required' | 'maxLength' | 'placeholder'> & {
    options: readonly (readonly [value: string, words: string])[]
  },
) => (
  <div class="field">
    <Label {...given} />
    <select id={given.id} value={given.value} onChange={(event) => given.onValue(event.currentTarget.value)}>
      {given.options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  </div>
)

export const CheckboxField = (given: {
  id: string
  label: string
  value: boolean
  onValue: (value: boolean) => void
}) => (
  <label class="agree" for={given.id}>
    <input
      id={given.id}
      type="checkbox"
      checked={given.value}
      onChange={(event) => given.onValue(event.currentTarget.checked)}
    />
    <span>{given.label}</span>
  </label>
)
