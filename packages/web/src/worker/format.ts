import { fillPlaceholders } from '../shared/design/fill-placeholders.ts'
import type { Messages } from './messages.ts'

/** Stars are hundredths of a dollar. */
const starsPerUsd = 100

const localeOf = (): string => document.documentElement.lang

export const starsText = (messages: Messages, stars: number): string =>
  stars === 1 ? messages.starsOne : fillPlaceholders(messages.stars, { n: stars.toLocaleString(localeOf()) })

export const usdText = (stars: number, locale: string): string =>
  `${(stars / starsPerUsd).toLocaleString(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 })} USD`

export const minutesText = (messages: Messages, minutes: number): string =>
  minutes < 1 ? messages.minutesLess : fillPlaceholders(messages.minutes, { n: Math.round(minutes) })

/** How long that is: whole minutes, and seconds under two of them. */
export const durationText = ({ duration }: Messages, ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 120) return fillPlaceholders(duration.seconds, { s: seconds })
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? fillPlaceholders(duration.minutes, { m: minutes })
    : fillPlaceholders(duration.hours, { h: Math.floor(minutes / 60), m: minutes % 60 })
}

export const countText = (n: number, one: string, many: string): string =>
  n === 1 ? one : fillPlaceholders(many, { n })

export const dateText = (instant: string, locale: string): string =>
  new Date(instant).toLocaleDateString(locale, { day: 'numeric', month: 'long', year: 'numeric' })

export const dateTimeText = (instant: string, locale: string): string =>
  new Date(instant).toLocaleString(locale, {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })

/** 0.6 is the minimum that counts, 0.75 is a high quality. */
export const qualityLevel = (quality: number): 'high' | 'good' | 'low' =>
  quality >= 0.75 ? 'high' : quality >= 0.6 ? 'good' : 'low'
