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

/** A measured duration: "640 ms", "12.4 s", "3 min 5 s". */
export const formatMilliseconds = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
