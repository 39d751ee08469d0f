import { pluralize } from '../design/time.ts'

/** Where a page is in its list. */
export type PagePlace = { readonly cursor: string | null; readonly nextCursor: string | null }

/** How many rows of a filtered list match, as far as the page knows: rows before and behind it are not counted. */
export const matchText = (count: number, name: string, { cursor, nextCursor }: PagePlace): string => {
  const isAll = cursor === null && nextCursor === null
  if (count === 0) return isAll ? `No ${name} matches` : `No ${name} on this page`
  if (cursor !== null) return `${pluralize(count, name)} on this page`
  return `${isAll ? '' : 'At least '}${pluralize(count, `${name} matches`, `${name}s match`)}`
}

/** Which rows of a list without filters the page shows. */
export const rowsText = (count: number, name: string, { cursor, nextCursor }: PagePlace): string => {
  const rows = pluralize(count, name)
  if (cursor !== null) return `${rows} on this page`
  return nextCursor === null ? rows : `the latest ${rows}`
}
