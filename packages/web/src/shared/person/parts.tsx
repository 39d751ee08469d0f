import { useEffect, useRef } from 'preact/hooks'
import type { ApiError } from './api.ts'
import { fillPlaceholders } from '../design/fill-placeholders.ts'
import { textOf, type PersonMessages } from './messages.ts'
import type { QueryState } from './use-query.tsx'

/** An address of ours in the language that was chosen. */
export const hrefOf = (path: string): string => {
  const chosen = new URLSearchParams(location.search).get('lang')
  return chosen === null ? path : `${path}?lang=${encodeURIComponent(chosen)}`
}

/** What happened, why, what next. */
export const ErrorNote = ({
  messages,
  failed,
  onRetry,
}: {
  messages: Pick<PersonMessages, 'again' | 'failed' | 'request'>
  failed: ApiError
  onRetry?: () => void
}) => (
  <div class="note stop" role="alert">
    <p>
      <b>{textOf(messages.failed, failed.code) ?? (failed.message || messages.failed.failed)}</b>
    </p>
    {failed.requestId === undefined ? null : (
      <p class="small">
        <code>{failed.code}</code> · {fillPlaceholders(messages.request, { id: failed.requestId })}
      </p>
    )}
    {onRetry ? (
      <p>
        <button type="button" class="btn" onClick={onRetry}>
          {messages.again}
        </button>
      </p>
    ) : null}
  </div>
)

/** Beside a value that could not be fetched again: it may have changed. */
export const RefreshFailure = ({
  messages,
  loaded: { failed, again },
}: {
  messages: Pick<PersonMessages, 'again' | 'failed' | 'request'>
  loaded: QueryState<unknown> & { readonly again: () => void }
}) => (failed ? <ErrorNote messages={messages} failed={failed} onRetry={again} /> : null)

/** A title that takes the focus when it changes, so that a screen reader continues from it. */
export const Title = ({ text, sign }: { text: string; sign?: 'ok' | 'warn' | 'stop' | 'none' }) => {
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${text} · PoHF`
    title.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [text])
  return (
    <h1 ref={title} tabIndex={-1} class={sign ? `said ${sign}` : ''}>
      {text}
    </h1>
  )
}
