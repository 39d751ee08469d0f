import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../platform/ops/clock.ts'

/** One entry: what was signed, by which key. It is on disk before the signature exists. */
export type JournalEntry = {
  readonly at: number
  readonly kid: string
  readonly id: string
  readonly hash: string
}

export type Journal = {
  readonly append: (entries: readonly JournalEntry[]) => void
  readonly close: () => void
}

const lineOf = (entry: JournalEntry): string => `${entry.at}\t${entry.kid}\t${entry.id}\t${entry.hash}\n`

/** Drops the partial line of a process that crashed while writing: its payload was never signed. */
const truncatePartialLine = (file: number): void => {
  const { size } = fstatSync(file)
  const tail = Buffer.alloc(Math.min(size, 4_096))
  readSync(file, tail, 0, tail.length, size - tail.length)
  const end = tail.lastIndexOf(10)
  if (size > 0 && end !== tail.length - 1) ftruncateSync(file, end === -1 ? 0 : size - tail.length + end + 1)
}

/** Opens the journal file of a month; files are append-only. */
export const openJournal = (folder: string, month: string): Journal => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = openSync(join(folder, `${month}.log`), 'a+', 0o600)
  truncatePartialLine(file)
  return {
    append: (entries) => {
      const text = Buffer.from(entries.map(lineOf).join(''))
      for (let written = 0; written < text.length;) written += writeSync(file, text, written)
      fdatasyncSync(file)
    },
    close: () => closeSync(file),
  }
}

export type OpenJournal = (folder: string, month: string) => Journal

/** The journal of the present month, opened at the first entry and anew when the month changes. */
export const openMonthlyJournal = (folder: string, clock: Clock, open: OpenJournal): Journal => {
  let current: { readonly month: string; readonly file: Journal } | undefined
  return {
    append: (entries) => {
      const month = clock.now().toISOString().slice(0, 7)
      if (current?.month !== month) {
        current?.file.close()
        current = { month, file: open(folder, month) }
      }
      current.file.append(entries)
    },
    close: () => current?.file.close(),
  }
}

const entryOf = (line: string): JournalEntry => {
  const [at = '0', kid = '', id = '', hash = ''] = line.split('\t')
  return { at: Number(at), kid, id, hash }
}

const listJournalFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => /^\d{4}-\d{2}\.log$/.test(name))
    .toSorted()

/** Every complete line of the journal, oldest first. */
export const readJournal = (folder: string): JournalEntry[] =>
  listJournalFiles(folder)
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1))
    .map(entryOf)

/** A time range of the journal, and where to continue. */
export type JournalSpan = {
  readonly from: number
  readonly to: number
  readonly cursor?: { readonly file: string; readonly offset: number } | undefined
}
export type JournalPage = {
  readonly entries: readonly JournalEntry[]
  readonly next: JournalSpan['cursor']
}

/** About 5,000 lines: reading a page must not delay signatures. */
const pageBytes = 600_000

const readAt = (file: number, offset: number, bytes: number): Buffer => {
  const buffer = Buffer.alloc(bytes)
  return buffer.subarray(0, readSync(file, buffer, 0, bytes, offset))
}

/** The offset of the first line of a time, by binary search: lines are ordered by time. */
const seek = (file: number, from: number): number => {
  let low = 0
  let high = fstatSync(file).size
  while (high - low > 4_096) {
    const middle = Math.floor((low + high) / 2)
    const [, whole = ''] = readAt(file, middle, 1_024).toString('utf8').split('\n')
    if (entryOf(whole).at < from) low = middle
    else high = middle
  }
  return low === 0 ? 0 : low + readAt(file, low, 1_024).indexOf(10) + 1
}

/** One page of the lines in [from, to). */
export const readJournalPage = (folder: string, { from, to, cursor }: JournalSpan): JournalPage => {
  const first = cursor?.file ?? `${new Date(from).toISOString().slice(0, 7)}.log`
  const last = `${new Date(to).toISOString().slice(0, 7)}.log`
  const months = existsSync(folder)
    ? listJournalFiles(folder).filter((name) => name >= first && name <= last)
    : []
  const [name, following] = months
  if (name === undefined) return { entries: [], next: undefined }
  const file = openSync(join(folder, name), 'r')
  try {
    const offset = cursor?.file === name ? cursor.offset : seek(file, from)
    const bytes = readAt(file, offset, pageBytes)
    const whole = bytes.subarray(0, bytes.lastIndexOf(10) + 1)
    const lines = whole.toString('utf8').split('\n').slice(0, -1).map(entryOf)
    const entries = lines.filter((line) => line.at >= from && line.at < to)
    if (whole.length > 0 && (lines.at(-1)?.at ?? 0) < to)
      return { entries, next: { file: name, offset: offset + whole.length } }
    return { entries, next: following === undefined ? undefined : { file: following, offset: 0 } }
  } finally {
    closeSync(file)
  }
}
