// Reads the public evaluation set: people, and bots that were recorded or generated.
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { MotionPoint } from '../../packages/scorer/src/index.ts'

export type Session = {
  /** `human`, or the name of the bot's family. */
  readonly family: string
  /** The family that a variant was made from. */
  readonly parent: string | null
  readonly source: 'sapimouse' | 'delbot' | 'reclocked' | 'offline' | 'generated' | 'chromium'
  /** Sessions of one person (or one bot run) share it: the unit that is drawn in a bootstrap. */
  readonly unit: string
  readonly user: number | null
  readonly points: readonly MotionPoint[]
}

const FILES = [
  'human_sapimouse.csv',
  'bots_offline.jsonl',
  'bots_chromium.jsonl',
  'delbot_circles.jsonl',
  'splits.json',
] as const

/** The folder with the traces, or what is missing and how to get on. */
export function findData(): { folder: string } | { missing: string } {
  const root = process.env['POHF_DATA'] ?? resolve(import.meta.dirname, '../../../shared/data')
  const folder = join(root, 'traces')
  const absent = FILES.filter((name) => !existsSync(join(folder, name)))
  if (absent.length === 0) return { folder }
  return {
    missing:
      `The evaluation data is not here: ${absent.join(', ')} not found in ${folder}. ` +
      'Set POHF_DATA to the folder that holds traces/. The traces are no part of this repository.',
  }
}

const KINDS = new Map<string | number, MotionPoint['type']>([
  ['m', 'move'],
  ['d', 'down'],
  ['u', 'up'],
  [0, 'move'],
  [1, 'down'],
  [2, 'up'],
  ['pointermove', 'move'],
  ['pointerdown', 'down'],
  ['pointerup', 'up'],
])

/** A clock that goes back this far began again: another take under the same name, not the same session. */
const RESTART_MS = 1_000

export function readHumans(folder: string): Session[] {
  const takes: { user: number; points: MotionPoint[] }[] = []
  const open = new Map<string, MotionPoint[]>()
  const lines = readFileSync(join(folder, 'human_sapimouse.csv'), 'utf8').split('\n')
  for (const line of lines.slice(1)) {
    const [user = '', part = '', t = '', x = '', y = '', kind = ''] = line.trim().split(',')
    const type = KINDS.get(kind)
    if (!type) continue
    const key = `${user}/${part}`
    const point = { t: Number(t), x: Number(x), y: Number(y), type }
    let points = open.get(key)
    if (!points || point.t < (points.at(-1)?.t ?? 0) - RESTART_MS) {
      points = []
      open.set(key, points)
      takes.push({ user: Number(user), points })
    }
    points.push(point)
  }
  return takes
    .toSorted((left, right) => left.user - right.user)
    .map(({ user, points }) => ({
      family: 'human',
      parent: null,
      source: 'sapimouse' as const,
      unit: `user-${user}`,
      user,
      points,
    }))
}

type Line = { readonly family: string; readonly id: string; readonly ev: readonly (readonly unknown[])[] }

export function readBots(folder: string): Session[] {
  const read = (name: string) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line)
  const offline = read('bots_offline.jsonl').map(({ family, id, ev }) => ({
    family,
    parent: null,
    source: 'offline' as const,
    unit: id,
    user: null,
    points: ev.flatMap(([t, x, y, kind]) => toPoint(t, x, y, kind)),
  }))
  const chromium = read('bots_chromium.jsonl').map(({ family, id, ev }) => ({
    family,
    parent: null,
    source: 'chromium' as const,
    unit: id,
    user: null,
    points: ev.flatMap(([t, kind, x, y]) => toPoint(t, x, y, kind)),
  }))
  return [...offline, ...chromium]
}

/** Another study: circles drawn with the button held, on other devices. It is in no training set and sets no threshold. */
export function readCircles(folder: string): Session[] {
  return readFileSync(join(folder, 'delbot_circles.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line.replaceAll('NaN', 'null')) as Line)
    .map(({ family, id, ev }) => ({
      family,
      parent: null,
      source: 'delbot' as const,
      unit: id,
      user: null,
      points: ev.flatMap(([t, x, y]) => toPoint(t, x, y, 0)),
    }))
}

function toPoint(t: unknown, x: unknown, y: unknown, kind: unknown): MotionPoint[] {
  const type = typeof kind === 'string' || typeof kind === 'number' ? KINDS.get(kind) : undefined
  if (!type || typeof t !== 'number' || typeof x !== 'number' || typeof y !== 'number') return []
  return [{ t, x, y, type }]
}
