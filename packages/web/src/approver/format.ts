import { fillPlaceholders } from '../shared/design/fill-placeholders.ts'
import type { Messages } from './messages.ts'

type Unit = 'seconds' | 'minutes' | 'hours' | 'days'

const unitText = ({ duration }: Messages, n: number, unit: Unit): string =>
  n === 1 ? duration[`${unit}One`] : fillPlaceholders(duration[unit], { n })

/** How long that is, in at most two units: "26 minutes", "1 hour 56 minutes", "12 seconds". */
export const durationText = (messages: Messages, ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  const both = (a: string, n: number, unit: Unit): string =>
    n === 0 ? a : fillPlaceholders(messages.duration.and, { a, b: unitText(messages, n, unit) })
  if (seconds < 120) return unitText(messages, seconds, 'seconds')
  if (minutes < 60) return unitText(messages, minutes, 'minutes')
  if (hours < 24) return both(unitText(messages, hours, 'hours'), minutes % 60, 'minutes')
  return both(unitText(messages, days, 'days'), hours % 24, 'hours')
}

export const agoText = (messages: Messages, ms: number): string =>
  ms < 2_000
    ? messages.duration.now
    : fillPlaceholders(messages.duration.ago, { time: durationText(messages, ms) })

/** The time with its zone; the day too where it is not today. */
export const timeText = (instant: string, locale: string, now: number): string => {
  const at = new Date(instant)
  const isToday = at.toDateString() === new Date(now).toDateString()
  return at.toLocaleString(locale, {
    ...(isToday ? {} : { day: 'numeric', month: 'short' }),
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  })
}

/** The beginning and the end of a hash. */
export const shortHash = (hash: string): string => `${hash.slice(0, 6)}…${hash.slice(-4)}`

export const initialsOf = (name: string): string =>
  name
    .split(/\s+/)
    .filter((word) => /^[\p{L}\p{N}]/u.test(word))
    .slice(0, 2)
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0).toUpperCase())
    .join('')
