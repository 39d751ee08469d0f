import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)))
  })

export const areFree = async (first: number, count: number): Promise<boolean> =>
  (await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)))).every(Boolean)

/**
 * The first of so many free ports in a row. They are below those that the system hands out: until a process listens there,
 * the system would give one of those to any connection of another process.
 */
export const findPortBlock = async (count: number): Promise<number> => {
  for (let attempt = 0; attempt < 100; attempt++) {
    const first = randomInt(10_000, 30_000)
    if (await areFree(first, count)) return first
  }
  throw new Error(`no ${count} free ports in a row`)
}
