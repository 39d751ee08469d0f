import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { serverNow } from '../../shared/person/api.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import { timeText } from '../format.ts'
import type { Messages, PageContext } from '../messages.ts'
import type { Blocker } from './rules.ts'
import type { Decision, Step } from './use-decision.ts'

/** What the person does next, in words. */
const hintOf = ({ messages, locale }: PageContext, blocker: Blocker | undefined, label: string): string => {
  const { decide } = messages
  if (!blocker) return decide.confirm
  switch (blocker.what) {
    case 'rate':
      return fillPlaceholders(messages.retryAt, { time: timeText(blocker.at, locale, serverNow()) })
    case 'refused':
      return decide.refused
    case 'opening':
      return decide.waits
    case 'stopped':
      return decide.stopped
    case 'missed':
      return decide.missedAll
    case 'question':
      return fillPlaceholders(decide.first, { label })
    case 'scroll':
      return fillPlaceholders(decide.scroll, { label: `\u2066${blocker.label}\u2069` })
    case 'seconds':
      return blocker.n === 1 ? decide.secondsOne : fillPlaceholders(decide.seconds, { n: blocker.n })
  }
}

/** The words that go with a denial. */
const DenyWords = ({
  messages,
  isBusy,
  onDeny,
}: {
  messages: Messages
  isBusy: boolean
  onDeny: (words: string) => void
}) => {
  const [words, setWords] = useState('')
  const box = useRef<HTMLTextAreaElement>(null)
  // Only when it opens. The page renders every second, and a person who went back to the button with Shift+Tab stays there.
  useLayoutEffect(() => {
    if (document.activeElement?.id === 'deny') box.current?.focus()
  }, [])
  return (
    <div class="words" id="deny-words">
      <label for="why">
        {messages.decide.why} <span class="muted">{messages.decide.optional}</span>
      </label>
      <textarea
        id="why"
        rows={2}
        maxLength={1_000}
        value={words}
        ref={box}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <button type="button" class="btn stop" disabled={isBusy} onClick={() => onDeny(words.trim())}>
        {words.trim() === '' ? messages.decide.denyNow : messages.decide.denyWords}
      </button>
    </div>
  )
}

/** Stays in view at the foot. Approve leads to what is missing while something is; deny needs nothing. */
export const DecideBar = ({
  page,
  blocker,
  label,
  step,
  onBlocked,
  onDecide,
}: {
  page: PageContext
  blocker: Blocker | undefined
  /** What the question is beside of. */
  label: string
  step: Step | undefined
  onBlocked: (blocker: Blocker) => void
  onDecide: (decision: Decision, words: string) => void
}) => {
  const { messages } = page
  const [isDenying, setDenying] = useState(false)
  const isBusy = step !== undefined
  return (
    <form class="decide" onSubmit={(event) => event.preventDefault()}>
      <p class="hint small" id="hint" role="status">
        {step === undefined ? hintOf(page, blocker, label) : messages.decide.steps[step]}
      </p>
      <div class="acts">
        {blocker?.what === 'refused' ? null : (
          <button
            type="button"
            class="btn main yes"
            aria-disabled={blocker !== undefined || isBusy}
            aria-describedby="hint"
            onClick={() => {
              if (isBusy) return
              if (blocker) onBlocked(blocker)
              else onDecide('approve', '')
            }}
          >
            {messages.decide.approve}
          </button>
        )}
        <button
          type="button"
          class="btn stop"
          id="deny"
          disabled={isBusy}
          aria-expanded={isDenying}
          aria-controls="deny-words"
          onClick={() => setDenying(!isDenying)}
        >
          {messages.decide.deny}
        </button>
      </div>
      {isDenying ? (
        <DenyWords messages={messages} isBusy={isBusy} onDeny={(words) => onDecide('deny', words)} />
      ) : (
        <div id="deny-words" hidden />
      )}
    </form>
  )
}
