import { useState } from 'preact/hooks'

/** Which keys a console accepts, and its texts for somebody without a key. */
export type SignInOptions = {
  readonly heading: string
  readonly lead: string
  readonly label: string
  readonly placeholder: string
  readonly pattern: RegExp
  readonly invalidKeyMessage: string
  readonly button: string
  readonly noKey: { readonly text: string; readonly label: string; readonly commands: string }
}

export const NoKeyHelp = ({ noKey }: Pick<SignInOptions, 'noKey'>) => (
  <section class="card pad" aria-labelledby="no-key">
    <h2 class="h3" id="no-key">
      No key yet?
    </h2>
    <p class="muted gap">{noKey.text}</p>
    <pre tabIndex={0} aria-label={noKey.label}>
      {noKey.commands}
    </pre>
  </section>
)

/** Asks for an API key, and stores it nowhere. */
export const KeyForm = ({ signIn, onKey }: { signIn: SignInOptions; onKey: (key: string) => void }) => {
  const [text, setText] = useState('')
  const [wrong, setWrong] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    const key = text.trim()
    if (signIn.pattern.test(key)) onKey(key)
    else setWrong(true)
  }
  return (
    <form class="paste card pad" onSubmit={submit}>
      <label for="key">{signIn.label}</label>
      <input
        id="key"
        type="password"
        required
        maxLength={120}
        autocomplete="off"
        spellcheck={false}
        placeholder={signIn.placeholder}
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
          {signIn.invalidKeyMessage}
        </p>
      ) : null}
      <p>
        <button class="btn main" type="submit">
          {signIn.button}
        </button>
      </p>
    </form>
  )
}
