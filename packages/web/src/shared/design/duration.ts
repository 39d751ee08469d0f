const units: readonly (readonly [string, number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
]

/** A span in the largest unit that fits: "3 hours". */
export const formatDuration = (seconds: number): string => {
  const [unit, size] = units.find(([, length]) => seconds >= length) ?? ['second', 1]
  const count = Math.max(Math.floor(seconds / size), 0)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
