/** JSON with sorted keys at every level (RFC 8785 for what we write: no lone surrogates, no NaN). */
export const canonicalJson = (value: unknown): string => JSON.stringify(sorted(value))

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, sorted(inner)]),
  )
}
