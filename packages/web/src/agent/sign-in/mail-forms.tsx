import { useState } from 'preact/hooks'
import { callConsole } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { ErrorNote } from '../../shared/design/components.tsx'

/** The link is on its way. Whether the address has an account is not said. */
export const LinkSent = ({ email, onAgain }: { email: string; onAgain: () => void }) => (
  <section class="card pad" aria-labelledby="sent">
    <h2 class="h3" id="sent" tabIndex={-1}>
      Check your mail
    </h2>
    <p class="gap" role="status">
      If <b>{email}</b> can sign in, a link is on its way. It works once, in this browser, for 15 minutes.
    </p>
    <p class="gap">
      <button type="button" class="btn" onClick={onAgain}>
        Use another address
      </button>
    </p>
  </section>
)

type MailField = {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly set: (text: string) => void
}

const MailInput = ({ id, label, value, set }: MailField) => (
  <>
    <label for={id}>{label}</label>
    <input
      id={id}
      type="email"
      required
      maxLength={254}
      autocomplete="email"
      placeholder="you@example.com"
      value={value}
      onInput={(event) => set(event.currentTarget.value)}
    />
  </>
)

/** Asks for a link to sign in. */
export const SignInForm = ({ onSent }: { onSent: (email: string) => void }) => {
  const [email, setEmail] = useState('')
  const action = useAction(() => undefined)
  const submit = async (event: Event) => {
    event.preventDefault()
    if (await action.run('', () => callConsole('POST', '/console/sign-in', { email: email.trim() })))
      onSent(email.trim())
  }
  return (
    <form class="paste" onSubmit={(event) => void submit(event)}>
      <MailInput id="email" label="Mail address" value={email} set={setEmail} />
      {action.error ? <ErrorNote error={action.error} /> : null}
      <p>
        <button class="btn main" type="submit" disabled={action.busy}>
          Mail me a link
        </button>
      </p>
    </form>
  )
}

/** Asks for a new account. */
export const SignUpForm = ({ onSent }: { onSent: (email: string) => void }) => {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const action = useAction(() => undefined)
  const submit = async (event: Event) => {
    event.preventDefault()
    const body = { name: name.trim(), email: email.trim() }
    if (await action.run('', () => callConsole('POST', '/console/sign-up', body))) onSent(body.email)
  }
  return (
    <form class="paste" onSubmit={(event) => void submit(event)}>
      <label for="account-name">Name of your company or project</label>
      <input
        id="account-name"
        required
        maxLength={80}
        autocomplete="organization"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <MailInput id="new-email" label="Mail address" value={email} set={setEmail} />
      {action.error ? <ErrorNote error={action.error} /> : null}
      <p>
        <button class="btn main" type="submit" disabled={action.busy}>
          Create an account
        </button>
      </p>
    </form>
  )
}
