import { useState } from 'preact/hooks'
import { ReasonField } from './reason-field.tsx'

type ReasonActionProps = {
  readonly id: string
  readonly label: string
  /** What the action is done to, for screen readers. */
  readonly name: string
  readonly look: 'main' | 'stop'
  readonly busy: boolean
  readonly onSubmit: (reason: string) => void
}

/** An action behind a fold, which needs a reason for the audit log. */
export const ReasonAction = ({ id, label, name, look, busy, onSubmit }: ReasonActionProps) => {
  const [reason, setReason] = useState('')
  return (
    <details>
      <summary>
        {label}
        <span class="hidden"> {name}</span>
      </summary>
      <form
        class="parts"
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit(reason.trim())
        }}
      >
        <ReasonField id={id} value={reason} onValue={setReason} />
        <p>
          <button class={`btn ${look}`} type="submit" disabled={busy}>
            {label}
          </button>
        </p>
      </form>
    </details>
  )
}
