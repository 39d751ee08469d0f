import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { toRuns } from '@pohf/scorer'
import type { StrokeLibrary } from './generators/types.ts'

const recorded = z
  .array(
    z
      .array(z.tuple([z.number(), z.number(), z.number()]))
      .min(2)
      .max(5_000),
  )
  .min(2)
  .max(100_000)

const kinds = new Map([
  ['m', 'move'],
  ['d', 'down'],
  ['u', 'up'],
] as const)

/** Strokes of the attacker's people (users 101 to 120) in a table of recordings `user,session,t_ms,x,y,e`. */
const readTable = (text: string): StrokeLibrary => {
  const sessions = new Map<string, { t: number; x: number; y: number; type: 'move' | 'down' | 'up' }[]>()
  for (const line of text.split('\n').slice(1)) {
    const [user = '', session = '', t = '', x = '', y = '', kind = ''] = line.trim().split(',')
    const type = kinds.get(kind as 'm')
    if (!type || Number(user) <= 100) continue
    const points = sessions.get(`${user}/${session}`) ?? []
    points.push({ t: Number(t), x: Number(x), y: Number(y), type })
    sessions.set(`${user}/${session}`, points)
  }
  return [...sessions.values()].flatMap((points) => toRuns(points.toSorted((a, b) => a.t - b.t)))
}

/** Reads a library: a `.csv` table of recordings, or `.json`, a list of strokes `[[t, x, y], …]`. */
export const readLibrary = (file: string): StrokeLibrary => {
  const text = readFileSync(file, 'utf8')
  if (file.endsWith('.csv')) return readTable(text)
  return recorded.parse(JSON.parse(text)).map((stroke) => stroke.map(([t, x, y]) => ({ t, x, y })))
}
