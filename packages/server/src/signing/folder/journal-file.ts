import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  readdirSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from './atomic-file.ts'

/** The longest lines, an acknowledgement of 64 batches with 256 discarded ids and a state with 64 peers, have 10 to 15 kB. */
const lineBytesMax = 16_384

/** The open file of a month. */
export type JournalFile = {
  /** Returns when the lines are on disk. */
  readonly append: (lines: string) => void
  readonly isEmpty: () => boolean
  readonly close: () => void
}
export type OpenJournalFile = (folder: string, month: string) => JournalFile

/** Drops the partial line of a process that crashed while writing: its payload was never signed. */
const truncatePartialLine = (file: number): void => {
  const { size } = fstatSync(file)
  const tail = Buffer.alloc(Math.min(size, lineBytesMax))
  readSync(file, tail, 0, tail.length, size - tail.length)
  const end = tail.lastIndexOf(10)
  if (end === -1 && size > tail.length)
    throw new Error(`the journal ends with a line of more than ${lineBytesMax} bytes, which no signer wrote`)
  if (size > 0 && end !== tail.length - 1) ftruncateSync(file, end === -1 ? 0 : size - tail.length + end + 1)
}

/** Opens the journal file of a month; files are append-only. */
export const openJournalFile: OpenJournalFile = (folder, month) => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${month}.log`)
  const file = openSync(path, 'a+', 0o600)
  syncFolder(path)
  truncatePartialLine(file)
  return {
    append: (lines) => {
      const text = Buffer.from(lines)
      for (let written = 0; written < text.length;) written += writeSync(file, text, written)
      fdatasyncSync(file)
    },
    isEmpty: () => fstatSync(file).size === 0,
    close: () => closeSync(file),
  }
}

/** The files of the journal, oldest first. */
const listJournalFiles = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => /^\d{4}-\d{2}\.log$/.test(name))
        .toSorted()
    : []

/** The month of the newest file; empty where there is none. */
export const newestMonthOf = (folder: string): string => listJournalFiles(folder).at(-1)?.slice(0, 7) ?? ''

/** Where to continue reading. */
export type JournalCursor = { readonly file: string; readonly offset: number }

/** About 1,500 lines: reading a page must not delay signatures. */
const pageBytes = 600_000

const readAt = (file: number, offset: number, bytes: number): Buffer => {
  const buffer = Buffer.alloc(bytes)
  return buffer.subarray(0, readSync(file, buffer, 0, bytes, offset))
}

/** The offset of the first line of a time, by binary search: lines are ordered by time. */
const seek = (file: number, from: number, timeOf: (line: string) => number): number => {
  let low = 0
  let high = fstatSync(file).size
  while (high - low > 2 * lineBytesMax) {
    const middle = Math.floor((low + high) / 2)
    const [, whole = ''] = readAt(file, middle, 2 * lineBytesMax)
      .toString('utf8')
      .split('\n')
    if (timeOf(whole) < from) low = middle
    else high = middle
  }
  return low === 0 ? 0 : low + readAt(file, low, lineBytesMax).indexOf(10) + 1
}

type Span = { readonly from: number; readonly to: number; readonly cursor?: JournalCursor | undefined }
export type LinePage = { readonly lines: readonly string[]; readonly next: JournalCursor | undefined }

/**
 * One page of lines; the first page begins shortly before the first line of `from`. A clock that was ahead leaves the file of
 * a later month, in which the lines of this time are: every later file is looked at.
 */
export const readLinePage = (
  folder: string,
  { from, to, cursor }: Span,
  timeOf: (line: string) => number,
): LinePage => {
  const first = cursor?.file ?? `${new Date(from).toISOString().slice(0, 7)}.log`
  const [name, following] = listJournalFiles(folder).filter((file) => file >= first)
  if (name === undefined) return { lines: [], next: undefined }
  const file = openSync(join(folder, name), 'r')
  try {
    const offset = cursor?.file === name ? cursor.offset : seek(file, from, timeOf)
    const bytes = readAt(file, offset, pageBytes)
    const whole = bytes.subarray(0, bytes.lastIndexOf(10) + 1)
    const lines = whole.toString('utf8').split('\n').slice(0, -1)
    const newest = lines.at(-1)
    if (newest !== undefined && timeOf(newest) < to)
      return { lines, next: { file: name, offset: offset + whole.length } }
    return { lines, next: following === undefined ? undefined : { file: following, offset: 0 } }
  } finally {
    closeSync(file)
  }
}

/** The lines of the whole journal, newest first; reads as far back as the caller takes them. */
export function* newestLines(folder: string): Generator<string> {
  for (const name of listJournalFiles(folder).toReversed()) {
    const file = openSync(join(folder, name), 'r')
    try {
      let end = fstatSync(file).size
      let rest = Buffer.alloc(0)
      while (end > 0) {
        const start = Math.max(0, end - pageBytes)
        const bytes = Buffer.concat([readAt(file, start, end - start), rest])
        const cut = start === 0 ? -1 : bytes.indexOf(10)
        rest = bytes.subarray(0, cut + 1)
        // Text after the last line feed is the partial line of a writer that crashed.
        yield* bytes
          .subarray(cut + 1)
          .toString('utf8')
          .split('\n')
          .slice(0, -1)
          .toReversed()
        end = start
      }
    } finally {
      closeSync(file)
    }
  }
}
