import { useEffect, useState } from 'preact/hooks'
import { durationText } from '../format.ts'
import { serverNow } from '../../shared/person/api.ts'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import type { Messages } from '../messages.ts'

/** The service ends a unit within 5 s of its time: it is asked until then, and not for ever. */
const askEveryMs = 2_000
const asksMax = 15

/** The time that is left, counted by the service's clock. Announced twice by screen readers, always visible. */
export const TimeLeft = ({
  messages,
  dueAt,
  onOver,
}: {
  messages: Messages
  dueAt: string
  onOver: () => void
}) => {
  const [left, setLeft] = useState(Date.parse(dueAt) - serverNow())
  const isOver = left <= 0
  useEffect(() => {
    const timer = setInterval(() => setLeft(Date.parse(dueAt) - serverNow()), 1_000)
    return () => clearInterval(timer)
  }, [dueAt])
  useEffect(() => {
    if (!isOver) return
    let asks = 0
    const ask = () => {
      asks += 1
      if (asks >= asksMax) clearInterval(timer)
      onOver()
    }
    const timer = setInterval(ask, askEveryMs)
    ask()
    return () => clearInterval(timer)
  }, [isOver])
  const soon = [5, 1].find((minutes) => left <= minutes * 60_000 && left > (minutes - 0.25) * 60_000)
  return (
    <>
      <span class={`num ${left < 120_000 ? 'bad' : ''}`}>
        {fillPlaceholders(messages.task.due, { time: durationText(messages, left) })}
      </span>
      <span class="hidden" role="status">
        {soon === undefined
          ? ''
          : fillPlaceholders(messages.task.dueSoon, { time: durationText(messages, soon * 60_000) })}
      </span>
    </>
  )
}
