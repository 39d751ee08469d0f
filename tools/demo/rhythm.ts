import type { Random } from './random.ts'

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

/** How busy a shop is in each hour of the day, in UTC: quiet at night, with peaks at noon and in the evening. */
const hourWeights = [1, 1, 1, 1, 1, 2, 4, 7, 9, 10, 11, 13, 14, 12, 10, 9, 9, 10, 12, 15, 16, 12, 7, 3]
const weightSum = hourWeights.reduce((sum, weight) => sum + weight, 0)
/** Sunday first. */
const weekdayFactors = [0.6, 1.05, 1.1, 1.1, 1.05, 1, 0.65]

export const dayStartOf = (at: number): number => Math.floor(at / dayMs) * dayMs

/** How many visits a day has: by the day of the week, growing to the last day, with some noise. */
export const visitsOfDay = (
  random: Random,
  { dayStart, age, perDay }: { readonly dayStart: number; readonly age: number; readonly perDay: number },
): number => {
  const factor = weekdayFactors[new Date(dayStart).getUTCDay()] ?? 1
  // 0.3 of today's a year ago, three quarters of a year later 0.8 of it.
  const growth = 0.3 + 0.7 * Math.exp(-age / 200)
  return Math.max(1, Math.round(perDay * factor * growth * random.between(0.8, 1.2)))
}

/** A time of this day, by the hours that are busy. */
export const timeOfDay = (random: Random, dayStart: number): number => {
  let left = random.next() * weightSum
  for (const [hour, weight] of hourWeights.entries()) {
    if (left < weight) return dayStart + hour * hourMs + Math.floor(random.next() * hourMs)
    left -= weight
  }
  return dayStart
}
