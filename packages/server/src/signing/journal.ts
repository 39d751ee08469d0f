import {
  closeSync,
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

/** One line: what was signed, by which key. It is on disk before the signature exists. */
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

/** A process that died while writing leaves half a line; it was never signed, so it goes. */
const dropHalfLine = (file: number): void => {
  const { size } = fstatSync(file)
  const tail = Buffer.alloc(Math.min(size, 4_096))
  readSync(file, tail, 0, tail.length, size - tail.length)
  const end = tail.lastIndexOf(10)
  if (size > 0 && end !== tail.length - 1) ftruncateSync(file, end === -1 ? 0 : size - tail.length + end + 1)
}

/** Opens this month's file of the journal; files are only ever added to. */
export const openJournal = (folder: string, month: string): Journal => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = openSync(join(folder, `${month}.log`), 'a+', 0o600)
  dropHalfLine(file)
  return {
    append: (entries) => {
      const text = Buffer.from(entries.map(lineOf).join(''))
      for (let written = 0; written < text.length;) written += writeSync(file, text, written)
      fdatasyncSync(file)
    },
    close: () => closeSync(file),
  }
}

/** Every whole line of the journal, oldest first. */
export const readJournal = (folder: string): JournalEntry[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .toSorted()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => {
      const [at = '0', kid = '', id = '', hash = ''] = line.split('\t')
      return { at: Number(at), kid, id, hash }
    })
