/** One value in a line of its own, or undefined where it has parts that want to be seen one by one. */
const oneLineText = (value: unknown): string | undefined => {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  if (!Array.isArray(value)) return undefined
  const parts = value.map((part) => (Array.isArray(part) ? undefined : oneLineText(part)))
  return parts.every((part) => part !== undefined) ? parts.join(', ') || 'none' : undefined
}

/** A value in a few words, for a cell of a table. */
export const shortText = (value: unknown): string => {
  const whole =
    oneLineText(value) ??
    Object.values(value as object)
      .map((part) => oneLineText(part) ?? '…')
      .join(' · ')
  return whole.length > 80 ? `${whole.slice(0, 79)}…` : whole
}

const Line = ({ text }: { text: string }) =>
  /^https:\/\/\S+$/.test(text) ? (
    // The address was entered by others: it gets no referrer.
    <a class="said" href={text} target="_blank" rel="noopener noreferrer nofollow">
      {text}
    </a>
  ) : (
    <span class="said">{text}</span>
  )

const labelOf = (name: string): string => {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

type Field = { readonly name: string; readonly label: string }
type ValueProps = {
  readonly value: unknown
  readonly label: string
  /** The form it was filled in by, where it is known: its words, and its order. */
  readonly fields?: readonly Field[] | undefined
}

/** The parts in the order of the form; what the form does not name follows. */
const inFormOrder = (value: object, fields: readonly Field[]): [string, unknown][] => {
  const place = new Map(fields.map(({ name }, index) => [name, index]))
  return Object.entries(value).toSorted(
    ([a], [b]) => (place.get(a) ?? fields.length) - (place.get(b) ?? fields.length),
  )
}

/** Whatever somebody sent or answered. Text by others is only ever text. */
export const Value = ({ value, label, fields = [] }: ValueProps) => {
  const line = oneLineText(value)
  if (line !== undefined) return <Line text={line} />
  const labels = new Map(fields.map((field) => [field.name, field.label]))
  const entries = inFormOrder(value as object, fields).map(
    ([name, part]) => [name, oneLineText(part)] as const,
  )
  if (Array.isArray(value) || entries.length > 30 || entries.some(([, part]) => part === undefined))
    return (
      <pre tabIndex={0} aria-label={label}>
        {JSON.stringify(value, null, 2)}
      </pre>
    )
  return (
    <dl class="values">
      {entries.map(([name, part]) => (
        <div key={name}>
          <dt>{labels.get(name) ?? labelOf(name)}</dt>
          <dd>
            <Line text={part ?? ''} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
