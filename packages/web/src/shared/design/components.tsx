import { useState } from 'preact/hooks'
import type { ApiError } from '../api/client.ts'

/** What went wrong, why, and what next. */
export const ErrorNote = ({ trouble, onRetry }: { trouble: ApiError; onRetry?: () => void }) => (
  <div class="note stop" role="alert">
    <p>
      <b>{trouble.message}</b>
    </p>
    {trouble.details.map((detail) => (
      <p key={detail}>{detail}</p>
    ))}
    <p class="small">
      <code>{trouble.code}</code>
      {trouble.requestId === undefined ? null : (
        <>
          {' '}
          · request <code>{trouble.requestId}</code>
        </>
      )}
    </p>
    {onRetry ? (
      <p class="gap">
        <button type="button" class="btn" onClick={onRetry}>
          Try again
        </button>
      </p>
    ) : null}
  </div>
)

/** Commands to run next, copied by one click. */
export const Commands = ({ text, label }: { text: string; label: string }) => {
  const [copied, setCopied] = useState(false)
  return (
    <div class="commands">
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <button
        type="button"
        class="btn"
        onClick={() => void navigator.clipboard?.writeText(text).then(() => setCopied(true))}
      >
        {copied ? 'Copied' : 'Copy'}
        <span class="hidden"> {label}</span>
      </button>
    </div>
  )
}

/** A secret that is shown this once. */
export const SecretNote = (given: { secret: string; children?: string; onDone: () => void }) => (
  <section class="card pad note-secret" aria-labelledby="secret-title">
    <h2 class="h3" id="secret-title" tabIndex={-1}>
      Keep this secret now: it is not shown again.
    </h2>
    {given.children ? <p class="muted gap">{given.children}</p> : null}
    <Commands text={given.secret} label="Signing secret" />
    <p class="gap">
      <button type="button" class="btn main" onClick={given.onDone}>
        I have kept it
      </button>
    </p>
  </section>
)

export const Skeleton = () => (
  <div class="card pad bones" aria-hidden="true">
    <div class="bone tall" />
    <div class="bone" />
    <div class="bone" />
  </div>
)

/** A button that asks once more before it does what cannot be undone. */
export const ConfirmButton = (given: {
  label: string
  sure: string
  disabled: boolean
  onDo: () => void
}) => {
  const [asked, setAsked] = useState(false)
  return (
    <button
      type="button"
      class={`btn ${asked ? 'stop' : ''}`}
      disabled={given.disabled}
      onBlur={() => setAsked(false)}
      onClick={() => (asked ? (setAsked(false), given.onDo()) : setAsked(true))}
    >
      {asked ? given.sure : given.label}
    </button>
  )
}

/** How the last act went, for eyes and for ears. */
export const ActionResult = ({ said, trouble }: { said: string; trouble: ApiError | undefined }) => (
  <>
    <p class="hidden" role="status">
      {said}
    </p>
    {said === '' ? null : (
      <p class="note ok" aria-hidden="true">
        {said}
      </p>
    )}
    {trouble ? <ErrorNote trouble={trouble} /> : null}
  </>
)
