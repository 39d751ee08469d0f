import { useState } from 'preact/hooks'
import { TextAreaField } from './fields.tsx'

type Texts = {
  readonly hint: string
  readonly accept: string
  readonly refuse: string
  /** The longest reason. */
  readonly maxLength: number
}
type DecisionFormProps = {
  readonly id: string
  readonly texts: Texts
  /** Whether one needs a reason to accept; to refuse, one always does. */
  readonly acceptsWithReason: boolean
  readonly busy: boolean
  readonly onDecide: (isAccepted: boolean, reason: string) => void
}

/** A decision with its reason, which the other side reads. */
export const DecisionForm = ({ id, texts, acceptsWithReason, busy, onDecide }: DecisionFormProps) => {
  const [reason, setReason] = useState('')
  return (
    <section aria-labelledby="decide">
      <h3 id="decide">Your decision</h3>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          const pressed = (event as SubmitEvent).submitter?.getAttribute('value')
          onDecide(pressed === 'accept', reason.trim())
        }}
      >
        <TextAreaField
          id={id}
          label="Why"
          hint={texts.hint}
          maxLength={texts.maxLength}
          required={acceptsWithReason}
          value={reason}
          onValue={setReason}
        />
        <div class="acts">
          <button class="btn main" type="submit" value="accept" disabled={busy}>
            {texts.accept}
          </button>
          <button
            class="btn stop"
            type="submit"
            value="refuse"
            disabled={busy || (!acceptsWithReason && reason.trim() === '')}
          >
            {texts.refuse}
          </button>
        </div>
      </form>
    </section>
  )
}
