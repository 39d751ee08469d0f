import { existsSync, readFileSync } from 'node:fs'

type CpuTime = { readonly stolen: number; readonly all: number }

/** The first line of /proc/stat: user nice system idle iowait irq softirq steal, in ticks of all cores (proc(5)). */
export const parseCpuTime = (stat: string): CpuTime => {
  const ticks = (/^cpu +([\d ]+)$/m.exec(stat)?.[1] ?? '').split(' ').slice(0, 8).map(Number)
  return { stolen: ticks[7] ?? 0, all: ticks.reduce((sum, one) => sum + one, 0) }
}
const readCpuTime = (): CpuTime | undefined =>
  existsSync('/proc/stat') ? parseCpuTime(readFileSync('/proc/stat', 'utf8')) : undefined

export type StolenTime = {
  /** Percent of the CPU time of all cores that the host of this virtual machine gave to others; null where it is not known. */
  readonly average: number | null
  /** The same in the worst interval. */
  readonly highest: number | null
}

const percentBetween = (from: CpuTime | undefined, to: CpuTime | undefined): number | null =>
  from && to && to.all > from.all ? Math.round((100 * (to.stolen - from.stolen)) / (to.all - from.all)) : null

/** Measures until `end` is called. A test that fails while the host takes most of the CPU says little of the test. */
export const measureStolenTime = (
  intervalMs = 10_000,
): { readonly recent: () => number | null; readonly end: () => StolenTime } => {
  const start = readCpuTime()
  const samples = [start]
  let highest: number | null = null
  const timer = setInterval(() => {
    samples.push(readCpuTime())
    highest = Math.max(highest ?? 0, percentBetween(samples.at(-2), samples.at(-1)) ?? 0)
    // The last minute is enough for `recent`.
    if (samples.length > 60_000 / intervalMs) samples.shift()
  }, intervalMs)
  return {
    recent: () => percentBetween(samples[0], readCpuTime()),
    end: () => {
      clearInterval(timer)
      const average = percentBetween(start, readCpuTime())
      return { average, highest: highest ?? average }
    },
  }
}
