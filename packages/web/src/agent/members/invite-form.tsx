import { useState } from 'preact/hooks'

/** The form that invites a person. */
export const InviteForm = (props: { busy: boolean; onInvite: (externalRef: string) => Promise<boolean> }) => {
  const [externalRef, setExternalRef] = useState('')
  const submit = async (event: Event) => {
    event.preventDefault()
    if (await props.onInvite(externalRef.trim())) setExternalRef('')
  }
  return (
    <section class="card pad" aria-labelledby="invite">
      <h2 class="h3" id="invite">
        Invite a person
      </h2>
      <p class="muted gap">
        The person opens the link, agrees, makes a passkey and passes one attention check. That takes about
        two minutes.
      </p>
      <form class="paste" onSubmit={(event) => void submit(event)}>
        <label for="external-ref">
          Your name for the person <span class="faint">optional, the same name gives the same member</span>
        </label>
        <input
          id="external-ref"
          maxLength={128}
          placeholder="user-4711"
          autocomplete="off"
          value={externalRef}
          onInput={(event) => setExternalRef(event.currentTarget.value)}
        />
        <p>
          <button class="btn main" type="submit" disabled={props.busy}>
            Make an invitation link
          </button>
        </p>
      </form>
    </section>
  )
}
