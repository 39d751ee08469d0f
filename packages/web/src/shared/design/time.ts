import { span } from './duration.ts'

export const secondsBetween = (from: string, to: number): number => (to - Date.parse(from)) / 1_000
export const ago = (at: string, now: number): string => {
  const seconds = secondsBetween(at, now)
  return seconds < 5 ? 'just now' : `${span(seconds)} ago`
}
export const ahead = (at: string, now: number): string => {
  const seconds = -secondsBetween(at, now)
  return seconds < 5 ? 'now' : `in ${span(seconds)}`
}
/** To the minute, in UTC, for tables and lists. */
export const dated = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`
