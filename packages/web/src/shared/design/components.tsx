import type { ComponentChildren } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { SignOutContext } from '../api/sign-out-context.ts'
import type { ApiError } from '../api/client.ts'
import { CopyButton } from './copy-button.tsx'

/** For what needs a recent sign-in. The address stays, so that the new sign-in returns to this page. */
const SignInAgain = () => {
  const signOut = useContext(SignOutContext)
  return signOut ? (
    <p class="gap">
      <button type="button" class="btn" onClick={signOut}>
        Sign in again
      </button>
    </p>
  ) : null
}

/** What went wrong, why, and what next. */
export const ErrorNote = ({ error, onRetry }: { error: ApiError; onRetry?: () => void }) => (
  <div class="note stop" role="alert">
    <p>
      <b>{error.message}</b>
    </p>
    {error.details.map((detail) => (
      <p key={detail}>{detail}</p>
    ))}
    <p class="small">
      <code>{error.code}</code>
      {error.requestId === undefined ? null : (
        <>
          {' '}
          · request <code>{error.requestId}</code>
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
    {error.code === 'sign_in_again' ? <SignInAgain /> : null}
  </div>
)

/** Commands to run next, copied by one click. */
export const Commands = ({ text, label }: { text: string; label: string }) => (
  <div class="commands">
    <pre tabIndex={0} aria-label={label}>
      {text}
    </pre>
    <CopyButton text={text} label={label} />
  </div>
)

/** A secret that is shown this once. Its title gets the focus, so that a screen reader says that it is there. */
export const SecretNote = (props: {
  secret: string
  label: string
  children?: ComponentChildren
  onDone: () => void
}) => {
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus(), [props.secret])
  return (
    <section class="card pad note-secret" aria-labelledby="secret-title">
      <h2 ref={title} class="h3" id="secret-title" tabIndex={-1}>
        Keep this secret now: it is not shown again.
      </h2>
      {props.children ? <p class="muted gap">{props.children}</p> : null}
      <Commands text={props.secret} label={props.label} />
      <p class="gap">
        <button type="button" class="btn main" onClick={props.onDone}>
          I have kept it
        </button>
      </p>
    </section>
  )
}

export const Skeleton = () => (
  <div class="card pad bones" aria-hidden="true">
    <div class="bone tall" />
    <div class="bone" />
    <div class="bone" />
  </div>
)

/** A button that asks once more before it does what cannot be undone. */
export const ConfirmButton = (props: {
  label: string
  confirmLabel: string
  disabled: boolean
  /** What the button does cannot be undone, and it says so before it is pressed. */
  isDangerous?: boolean
  onConfirm: () => void
}) => {
  const [isConfirming, setIsConfirming] = useState(false)
  return (
    <button
      type="button"
      class={`btn ${isConfirming ? 'stop' : props.isDangerous ? 'danger' : ''}`}
      disabled={props.disabled}
      onBlur={() => setIsConfirming(false)}
      onClick={() => (isConfirming ? (setIsConfirming(false), props.onConfirm()) : setIsConfirming(true))}
    >
      {isConfirming ? props.confirmLabel : props.label}
    </button>
  )
}

/** How the last act went, for eyes and for ears. */
export const ActionResult = ({ message, error }: { message: string; error: ApiError | undefined }) => (
  <>
    <p class="hidden" role="status">
      {message}
    </p>
    {message === '' ? null : (
      <p class="note ok" aria-hidden="true">
        {message}
      </p>
    )}
    {error ? <ErrorNote error={error} /> : null}
  </>
)
