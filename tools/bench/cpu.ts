import { readFileSync, readdirSync } from 'node:fs'

/** Linux counts CPU time in ticks of 10 ms. */
const microsecondsPerTick = 10_000

const fieldsOf = (pid: number): string[] => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
const ticks = (fields: readonly string[], places: readonly number[]): number =>
  places.reduce((sum, place) => sum + Number(fields[place] ?? 0), 0)

/** CPU time of one process, in microseconds. */
export const cpuOfProcess = (pid: number): number => ticks(fieldsOf(pid), [11, 12]) * microsecondsPerTick

/** CPU time of a process, of its children, and of the children it has seen end: PostgreSQL as a whole. */
export const cpuOfProcessTree = (pid: number): number => {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => Number(fieldsOf(Number(name))[1]) === pid)
  const alive = children.reduce((sum, child) => sum + ticks(fieldsOf(Number(child)), [11, 12]), 0)
  return (ticks(fieldsOf(pid), [11, 12, 13, 14]) + alive) * microsecondsPerTick
}
