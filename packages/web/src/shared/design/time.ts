import { formatDuration } from './duration.ts'

export const secondsBetween = (from: string, to: number): number => (to - Date.parse(from)) / 1_000
export const timeAgo = (at: string, now: number): string => {
  const seconds = secondsBetween(at, now)
  return seconds < 5 ? 'just now' : `${formatDuration(seconds)} ago`
}
export const timeUntil = (at: string, now: number): string => {
  const seconds = -secondsBetween(at, now)
  return seconds < 5 ? 'now' : `in ${formatDuration(seconds)}`
}
/** To the minute, in UTC, for tables and lists. */
export const formatUtc = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`

export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`
