import { useEffect, useRef } from 'preact/hooks'
import { ErrorNote } from '../../shared/person/parts.tsx'
import type { ApiError } from '../../shared/person/api.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import { textOf } from '../../shared/person/messages.ts'
import type { Messages } from '../messages.ts'

/** Why a recording or a rule does not allow it, in plain words. */
const reasonsOf = (messages: Messages, { details }: ApiError): string[] =>
  details.flatMap(({ code }) =>
    code === undefined
      ? []
      : [
          textOf({ ...messages.reasons, ...messages.rules }, code) ??
            fillPlaceholders(messages.reasonElse, { code }),
        ],
  )

/** A decision that was not made: what happened, why, what next. */
export const Failure = ({
  messages,
  failed,
  isKept,
}: {
  messages: Messages
  failed: ApiError
  /** The recording can be used for the next attempt. */
  isKept: boolean
}) => {
  const reasons = reasonsOf(messages, failed)
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.scrollIntoView({ block: 'center' }), [failed])
  return (
    <div class="failure" ref={box}>
      {failed.code === 'session_rejected' ? (
        <div class="note stop" role="alert">
          <p>
            <b>{messages.unverified.title}</b>
          </p>
          <p>{messages.unverified.lead}</p>
        </div>
      ) : (
        <ErrorNote messages={messages} failed={failed} />
      )}
      {reasons.length === 0 ? null : (
        <ul class="plain small">
          {reasons.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {isKept ? <p class="muted small">{messages.decide.kept}</p> : null}
    </div>
  )
}
