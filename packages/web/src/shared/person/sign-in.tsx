import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { PersonMessages } from './messages.ts'
import { hrefOf, Title } from './parts.tsx'

/** The one script of the members' pages that speaks with the authenticator. */
type PasskeyScript = {
  readonly signInByPasskey: (page: {
    readonly words: { readonly waitDevice: string; readonly failed: Readonly<Record<string, string>> }
    readonly say: (text: string) => void
  }) => Promise<void>
}
const passkeysPath = '/assets/passkey.js'

/** Signs in by passkey. Below it stands what the page says to people who have none yet. */
export const SignIn = ({
  messages,
  children,
}: {
  messages: PersonMessages
  children?: ComponentChildren
}) => {
  const [said, setSaid] = useState('')
  const [busy, setBusy] = useState(false)
  const signIn = async () => {
    setBusy(true)
    setSaid(messages.signIn.wait)
    try {
      const { signInByPasskey } = (await import(/* @vite-ignore */ passkeysPath)) as PasskeyScript
      await signInByPasskey({
        words: { waitDevice: messages.signIn.waitDevice, failed: messages.failed },
        say: setSaid,
      })
      location.reload()
    } catch (error) {
      setSaid(error instanceof Error ? error.message : messages.failed.failed)
      setBusy(false)
    }
  }
  return (
    <>
      <Title text={messages.signIn.title} />
      <p class="lead">{messages.signIn.lead}</p>
      <section class="card pad" aria-labelledby="how">
        <h2 class="h3" id="how">
          {messages.signIn.how}
        </h2>
        <ol class="plain gap">
          {messages.signIn.steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      </section>
      <div class="act">
        <p role="status">{said}</p>
        <button type="button" class="btn main wide" disabled={busy} onClick={() => void signIn()}>
          {messages.signIn.button}
        </button>
        <p class="small">
          <a class="quiet" href={hrefOf('/me')}>
            {messages.signIn.lost}
          </a>
        </p>
      </div>
      {children}
    </>
  )
}
