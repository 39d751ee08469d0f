/** Steps of an axis: 1, 2 or 5 times a power of ten. */
const niceStep = (rough: number): number => {
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough) ?? 10
  return Math.max(1, factor * power)
}

/** Whole numbers for the lines of a grid: from above 0 up to `most`, at most `count` of them. */
export const ticksUpTo = (most: number, count: number): readonly number[] => {
  if (most <= 0) return []
  const step = niceStep(most / count)
  return Array.from({ length: Math.floor(most / step) }, (_, index) => (index + 1) * step)
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
/** A day in UTC: "4 Nov". */
export const formatDay = (at: string): string => dayFormat.format(new Date(at))

export const formatCount = (count: number): string => count.toLocaleString('en')
/** A value between 0 and 1, as the reference pages write it: ".82". */
export const formatUnit = (value: number): string => value.toFixed(2).replace(/^0(?=\.)/, '')
/** A share of 1: "6.1%". None and all are said only where they are true. */
export const formatShare = (share: number): string => {
  if (share > 0 && share < 0.0005) return '<0.1%'
  if (share < 1 && share >= 0.9995) return '>99.9%'
  return `${(share * 100).toFixed(1).replace(/\.0$/, '')}%`
}
