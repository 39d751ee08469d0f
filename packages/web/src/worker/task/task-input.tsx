import { useState } from 'preact/hooks'
import type { Assignment, InputField } from '../wire.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import type { Messages } from '../messages.ts'

/** The address where it is an https one: nothing else is opened. */
const parseUrl = (value: string): URL | undefined => {
  const url = URL.parse(value)
  return url?.protocol === 'https:' ? url : undefined
}

const InputImage = ({ messages, label, src }: { messages: Messages; label: string; src: string }) => {
  const [tries, setTries] = useState(0)
  const [failed, setFailed] = useState(false)
  const [large, setLarge] = useState(false)
  if (failed)
    return (
      <div class="note warn" role="status">
        <p>{messages.task.imageFailed}</p>
        <p>
          <button
            type="button"
            class="btn"
            onClick={() => {
              setFailed(false)
              setTries(tries + 1)
            }}
          >
            {messages.task.imageAgain}
          </button>
        </p>
      </div>
    )
  return (
    <>
      <img
        key={tries}
        class={large ? 'picture large' : 'picture'}
        src={src}
        alt={label}
        decoding="async"
        onError={() => setFailed(true)}
      />
      <button type="button" class="btn quiet" aria-pressed={large} onClick={() => setLarge(!large)}>
        {large ? messages.task.imageSmall : messages.task.imageLarge}
      </button>
    </>
  )
}

type InputValueProps = {
  readonly messages: Messages
  readonly assignmentId: string
  readonly field: InputField
  readonly value: string
}

const InputValue = ({ messages, assignmentId, field, value }: InputValueProps) => {
  const [unit, name] = [encodeURIComponent(assignmentId), encodeURIComponent(field.name)]
  // The service fetches the image: this browser sends nothing to the buyer.
  if (field.type === 'image')
    return (
      <InputImage
        messages={messages}
        label={field.label}
        src={`/api/work/assignments/${unit}/images/${name}`}
      />
    )
  const address = field.type === 'text' ? undefined : parseUrl(value)
  if (!address) return <p class="text">{value}</p>
  const { host } = address
  return (
    <>
      <p class="text address">{value}</p>
      <p class="small muted">{fillPlaceholders(messages.task.linkWarn, { host })}</p>
      <p>
        <a
          class="btn"
          href={`/work/${unit}/link/${name}?lang=${document.documentElement.lang}`}
          target="_blank"
          rel="noopener"
        >
          {fillPlaceholders(messages.task.linkOpen, { host })} ↗
        </a>
      </p>
    </>
  )
}

/** What the buyer sent along for this one unit. */
export const TaskInput = ({ messages, assignment }: { messages: Messages; assignment: Assignment }) => {
  const values = (assignment.input ?? {}) as Readonly<Record<string, unknown>>
  const shown = assignment.inputForm.filter(({ name }) => {
    const value = values[name]
    return (typeof value === 'string' && value !== '') || typeof value === 'number'
  })
  return (
    <section class="card pad stack" aria-labelledby="given">
      <h2 class="h3" id="given">
        {messages.task.given}
      </h2>
      {shown.length === 0 ? <p class="muted">{messages.task.noInput}</p> : null}
      {shown.map((field) => (
        <div key={field.name} class="given">
          <h3 class="small muted">{field.label}</h3>
          <InputValue
            messages={messages}
            assignmentId={assignment.assignmentId}
            field={field}
            value={String(values[field.name])}
          />
        </div>
      ))}
    </section>
  )
}
