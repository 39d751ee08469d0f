import { createHash } from 'node:crypto'
import type { Clock } from '../platform/ops/clock.ts'
import {
  newestLines,
  newestMonthOf,
  openJournalFile,
  readLinePage,
  type JournalCursor,
  type JournalFile,
  type OpenJournalFile,
} from './folder/journal-file.ts'

/** What was signed, by which key: what every line since the first version of the journal says. */
export type JournalEntry = {
  readonly at: number
  readonly kid: string
  readonly id: string
  readonly hash: string
}

/** The act behind a credential. The keys are HMACs of the api: equal for equal acts, and they reveal nothing else. */
export type JournalAct = {
  readonly key: string
  /** Whether a credit was spent for it. */
  readonly charged: boolean
  /** Keyed values that count once, such as the hash of a photo. */
  readonly once?: readonly string[] | undefined
}

/** A credential. It is on disk before its signature exists. */
export type SignedRecord = JournalEntry &
  JournalAct & {
    readonly kind: 'credential'
    readonly batch: number
    readonly agent: string
    readonly list: string
    readonly index: number
    readonly expiresAt: number
  }
/** Anything else that was signed. A status list has the address, the version and the hash of its states. */
type TypedRecord = JournalEntry & {
  readonly kind: 'typed'
  readonly list?: string | undefined
  readonly version?: number | undefined
  readonly states?: string | undefined
}
/** Batches that the database has committed, and the credentials of these batches that it did not store. */
type AcknowledgedRecord = {
  readonly kind: 'acknowledged'
  readonly at: number
  readonly batches: readonly number[]
  readonly discarded?: readonly string[] | undefined
}
/** The head of another signer's journal, as an api saw it. */
type PeerRecord = { readonly kind: 'peer'; readonly at: number; readonly head: JournalHead }
/** Numbers that this journal must not use again: it was restored to a state before they were given out. */
type AdvancedRecord = {
  readonly kind: 'advanced'
  readonly at: number
  readonly batch: number
  readonly position: number
}
/** A summary of all earlier records, so that opening the journal reads back only to the newest record of this kind. */
type StateRecord = {
  readonly kind: 'state'
  readonly at: number
  readonly batch: number
  readonly acknowledged: readonly number[]
  readonly unacknowledged: readonly number[]
  readonly peers: readonly JournalHead[]
  readonly own: JournalPosition
}
export type JournalRecord =
  SignedRecord | TypedRecord | AcknowledgedRecord | PeerRecord | AdvancedRecord | StateRecord
/** A record with its number, and the hash of the chain that ends with it. */
export type ChainedRecord = JournalRecord & { readonly sequence: number; readonly chain: string }

export type JournalPosition = { readonly sequence: number; readonly chain: string }
/** Where a journal ends. */
export type JournalHead = JournalPosition & {
  readonly signer: string
  /** The newest batch that was acknowledged, where a witness journals it: the database must have it. */
  readonly acknowledged?: number | undefined
}

const emptyChain = 'A'.repeat(43)
const chainOf = (previous: string, text: string): string =>
  createHash('sha256').update(previous).update(text).digest('base64url')

/** A line: the record as JSON with its sequence, a tab, and the hash of this line and all before it. */
const lineOf = (previous: string, record: JournalRecord, sequence: number) => {
  const text = JSON.stringify({ ...record, sequence })
  const chain = chainOf(previous, text)
  return { line: `${text}\t${chain}\n`, chain }
}

/** A line of the first version: time, key, id and hash. It has no index, so a restore can only count it. */
const plainEntryOf = (line: string): JournalEntry => {
  const [at = '0', kid = '', id = '', hash = ''] = line.split('\t')
  return { at: Number(at), kid, id, hash }
}

const chainedRecordOf = (line: string): ChainedRecord => {
  const tab = line.lastIndexOf('\t')
  const record = JSON.parse(line.slice(0, tab)) as JournalRecord & { readonly sequence: number }
  return { ...record, chain: line.slice(tab + 1) }
}

const isChained = (line: string): boolean => line.startsWith('{')
const timeOf = (line: string): number => (isChained(line) ? chainedRecordOf(line).at : plainEntryOf(line).at)

const entryOf = (line: string): JournalEntry[] => {
  if (!isChained(line)) return [plainEntryOf(line)]
  const record = chainedRecordOf(line)
  if (record.kind !== 'credential' && record.kind !== 'typed') return []
  const { at, kid, id, hash } = record
  return [{ at, kid, id, hash }]
}

/** Everything that was ever signed, oldest first. */
export const readJournal = (folder: string): JournalEntry[] =>
  [...newestLines(folder)].toReversed().flatMap(entryOf)

/** A time range of the journal, and where to continue. */
export type JournalSpan = {
  readonly from: number
  readonly to: number
  readonly cursor?: JournalCursor | undefined
}
export type JournalPage = {
  readonly entries: readonly JournalEntry[]
  readonly next: JournalSpan['cursor']
}

/** One page of what was signed in [from, to). */
export const readJournalPage = (folder: string, span: JournalSpan): JournalPage => {
  const { lines, next } = readLinePage(folder, span, timeOf)
  const entries = lines.flatMap(entryOf).filter(({ at }) => at >= span.from && at < span.to)
  return { entries, next }
}

/** The same with everything that the journal says; the first page begins a little before `from`. */
export type RecordPage = {
  readonly records: readonly ChainedRecord[]
  /** Lines of the first version, which a restore can only count. */
  readonly plain: readonly JournalEntry[]
  readonly next: JournalSpan['cursor']
}
export const readRecordPage = (folder: string, span: JournalSpan): RecordPage => {
  const { lines, next } = readLinePage(folder, span, timeOf)
  let previous: string | undefined
  const records = lines.filter(isChained).map((line) => {
    const record = chainedRecordOf(line)
    const text = line.slice(0, line.lastIndexOf('\t'))
    if (previous !== undefined && chainOf(previous, text) !== record.chain)
      throw new Error(`the hash chain of the journal is broken at record ${record.sequence}`)
    previous = record.chain
    return record
  })
  return { records, plain: lines.filter((line) => !isChained(line)).map(plainEntryOf), next }
}

/** How many of the newest acknowledged batches are compared with the database. */
const acknowledgedMax = 1_024
/** How many of the newest batches without an acknowledgement are looked up in the database. */
const unacknowledgedMax = 256

/** What the signer knows of its own journal when it opens it. */
type JournalState = {
  readonly sequence: number
  readonly chain: string
  /** The last batch that was signed. */
  readonly batch: number
  /** The newest acknowledged batches, newest first. */
  readonly acknowledged: readonly number[]
  /** The newest signed batches that are not acknowledged, newest first. */
  readonly unacknowledged: readonly number[]
  /** The newest known heads of other signers. */
  readonly peers: readonly JournalHead[]
  /**
   * The newest record that is not about another signer. If records about others were reported too, two signers would
   * lengthen each other's journals without end.
   */
  readonly own: JournalPosition
  /** How many records follow the last one of the kind `state`. */
  readonly sinceState: number
}
/** A record of the kind `state` is written at the start of each month and after so many others. */
const stateEvery = 10_000
/** It fits a line of the journal, also with 64 peers. */
const stateLimits = { acknowledged: 256, unacknowledged: 64, peers: 64 }

const stateRecordOf = ({ batch, own, ...state }: JournalState, at: number): StateRecord => ({
  kind: 'state',
  at,
  batch,
  acknowledged: state.acknowledged.slice(0, stateLimits.acknowledged),
  unacknowledged: state.unacknowledged.slice(0, stateLimits.unacknowledged),
  peers: state.peers.slice(-stateLimits.peers),
  own,
})
const isOwn = ({ kind }: JournalRecord): boolean => kind !== 'peer' && kind !== 'state'

const without = (batches: readonly number[], removed: readonly number[]): number[] => {
  const known = new Set(removed)
  return batches.filter((batch) => !known.has(batch))
}

const peersIn = (record: JournalRecord): readonly JournalHead[] => {
  if (record.kind === 'peer') return [record.head]
  return record.kind === 'state' ? record.peers.toReversed() : []
}

/** Reads the end of the journal: the head, the last batch, and the newest acknowledgements. */
const readJournalState = (folder: string): JournalState => {
  let head: JournalPosition | undefined
  let own: JournalPosition | undefined
  let batch: number | undefined
  let sinceState = 0
  const acknowledged: number[] = []
  const unacknowledged = new Set<number>()
  const peers = new Map<string, JournalHead>()
  for (const line of newestLines(folder)) {
    if (!isChained(line)) break
    const record = chainedRecordOf(line)
    const position = { sequence: record.sequence, chain: record.chain }
    head ??= position
    if (isOwn(record)) own ??= position
    if (record.kind === 'credential' || record.kind === 'advanced') batch ??= record.batch
    if (record.kind === 'acknowledged') acknowledged.push(...record.batches)
    if (record.kind === 'credential') unacknowledged.add(record.batch)
    for (const peer of peersIn(record)) if (!peers.has(peer.signer)) peers.set(peer.signer, peer)
    if (record.kind === 'state') {
      batch ??= record.batch
      own ??= record.own
      acknowledged.push(...record.acknowledged)
      for (const number of record.unacknowledged) unacknowledged.add(number)
      break
    }
    sinceState += 1
    // A journal of an earlier version has no such record.
    if (sinceState > 2 * stateEvery && batch !== undefined && acknowledged.length >= acknowledgedMax) break
  }
  return {
    sequence: head?.sequence ?? 0,
    chain: head?.chain ?? emptyChain,
    batch: batch ?? 0,
    acknowledged: acknowledged.slice(0, acknowledgedMax),
    unacknowledged: without([...unacknowledged], acknowledged).slice(0, unacknowledgedMax),
    peers: [...peers.values()].toReversed(),
    own: own ?? { sequence: 0, chain: emptyChain },
    sinceState,
  }
}

export type Journal = {
  /** Writes records; returns when they are on disk. */
  readonly append: (records: readonly JournalRecord[]) => void
  readonly state: () => JournalState
  readonly close: () => void
}
export type OpenJournal = OpenJournalFile
export const openJournal = openJournalFile

const withRecord = (state: JournalState, record: JournalRecord): Partial<JournalState> => {
  if (record.kind === 'advanced') return { batch: Math.max(state.batch, record.batch) }
  // The records of a batch follow one another.
  if (record.kind === 'credential')
    return record.batch === state.batch
      ? {}
      : {
          batch: Math.max(state.batch, record.batch),
          unacknowledged: [record.batch, ...state.unacknowledged].slice(0, unacknowledgedMax),
        }
  if (record.kind === 'acknowledged')
    return {
      acknowledged: [...record.batches, ...state.acknowledged].slice(0, acknowledgedMax),
      unacknowledged: without(state.unacknowledged, record.batches),
    }
  if (record.kind !== 'peer') return {}
  const { head } = record
  return { peers: [...state.peers.filter(({ signer }) => signer !== head.signer), head] }
}

/** Numbers and chains records, in the order in which they are written. */
const chainRecords = (state: JournalState, records: readonly JournalRecord[]) => {
  let next = state
  let lines = ''
  for (const record of records) {
    const position = record.kind === 'advanced' ? record.position : 0
    const sequence = Math.max(next.sequence, position) + 1
    const { line, chain } = lineOf(next.chain, record, sequence)
    lines += line
    const own = isOwn(record) ? { sequence, chain } : next.own
    const sinceState = record.kind === 'state' ? 0 : next.sinceState + 1
    next = { ...next, ...withRecord(next, record), sequence, chain, own, sinceState }
  }
  return { lines, next }
}

/** The journal of a signer: a file a month, opened at the first record, and one chain of hashes over all of them. */
export const openMonthlyJournal = (folder: string, clock: Clock, open: OpenJournal): Journal => {
  let current: { readonly month: string; readonly file: JournalFile } | undefined
  let state: JournalState | undefined = readJournalState(folder)
  // A clock that was set back must not continue an older file: the newest one is read for the last numbers.
  let newestMonth = newestMonthOf(folder)
  const monthOf = (now: Date): string => {
    const month = now.toISOString().slice(0, 7)
    if (month > newestMonth) newestMonth = month
    return newestMonth
  }
  const fileOf = (month: string): JournalFile => {
    if (current?.month === month) return current.file
    current?.file.close()
    current = { month, file: open(folder, month) }
    return current.file
  }
  return {
    append: (records) => {
      const file = fileOf(monthOf(clock.now()))
      const before = state ?? readJournalState(folder)
      const isDue = before.sequence > 0 && (file.isEmpty() || before.sinceState >= stateEvery)
      const at = records[0]?.at ?? clock.now().getTime()
      const { lines, next } = chainRecords(before, [
        ...(isDue ? [stateRecordOf(before, at)] : []),
        ...records,
      ])
      // A failed write may have left some lines: the file is opened again and read to its end before the next one.
      state = undefined
      try {
        file.append(lines)
        state = next
      } finally {
        if (state === undefined) {
          file.close()
          current = undefined
        }
      }
    },
    state: () => (state ??= readJournalState(folder)),
    close: () => current?.file.close(),
  }
}
