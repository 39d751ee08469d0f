import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiError } from '../api/client.ts'
import { ErrorNote } from '../design/components.tsx'

/** Who may come in here, and what is said to whoever has no key yet. */
export type SignInOptions = {
  /** The name of what is behind it, as in the title of the page. */
  readonly name: string
  readonly heading: string
  readonly lead: string
  readonly label: string
  readonly placeholder: string
  readonly pattern: RegExp
  readonly invalidKeyMessage: string
  readonly button: string
  readonly noKey: { readonly words: string; readonly label: string; readonly commands: string }
}

/** Asks for a key, and keeps it nowhere. */
export const SignInView = (given: {
  door: SignInOptions
  trouble: ApiError | undefined
  brand: ComponentChildren
  onKey: (key: string) => void
}) => {
  const { door, trouble } = given
  const [text, setText] = useState('')
  const [wrong, setWrong] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    const key = text.trim()
    if (door.pattern.test(key)) given.onKey(key)
    else setWrong(true)
  }
  return (
    <main class="page narrow">
      <p class="brand">{given.brand}</p>
      <h1>{door.heading}</h1>
      <p class="muted">{door.lead}</p>
      {trouble ? <ErrorNote trouble={trouble} /> : null}
      <form class="paste card pad" onSubmit={submit}>
        <label for="key">{door.label}</label>
        <input
          id="key"
          type="password"
          required
          maxLength={120}
          autocomplete="off"
          spellcheck={false}
          placeholder={door.placeholder}
          value={text}
          aria-invalid={wrong}
          aria-describedby={wrong ? 'key-wrong' : undefined}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setWrong(false)
          }}
        />
        {wrong ? (
          <p class="bad" id="key-wrong" role="alert">
            {door.invalidKeyMessage}
          </p>
        ) : null}
        <p>
          <button class="btn main" type="submit">
            {door.button}
          </button>
        </p>
      </form>
      <section class="card pad" aria-labelledby="no-key">
        <h2 class="h3" id="no-key">
          No key yet?
        </h2>
        <p class="muted gap">{door.noKey.words}</p>
        <pre tabIndex={0} aria-label={door.noKey.label}>
          {door.noKey.commands}
        </pre>
      </section>
    </main>
  )
}
