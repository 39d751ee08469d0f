import { createPublicKey, verify } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../platform/ops/clock.ts'
import { readRecordPage } from '../journal.ts'
import type {
  Journal,
  JournalEntry,
  JournalHead,
  JournalPosition,
  JournalRecord,
  JournalSpan,
} from '../journal.ts'
import { validateClaims, type KeyRecord, type ValidatedClaims } from '../rules.ts'
import { hashStates, listIdOf, statesOf, type SignedLists } from './signed-lists.ts'

const signerId = z.string().regex(/^sgn_[0-9a-f]{16}$/)
const counter = z
  .int()
  .min(0)
  .max(2 ** 52)
const keyed = z.string().regex(/^[A-Za-z0-9_-]{22}$/)
const headSchema = z.strictObject({
  signer: signerId,
  sequence: counter,
  chain: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  acknowledged: counter.optional(),
})
/** Limits of one line of the journal. */
export const acknowledgedMax = 64
export const discardedMax = 256
/** What an api reports, with a batch or alone. */
const acknowledgement = {
  acknowledge: z.array(counter).max(acknowledgedMax).default([]),
  /** Credentials of these batches that were not stored: nobody has them. */
  discarded: z
    .array(z.string().regex(/^crd_[A-Za-z0-9]{1,60}$/))
    .max(discardedMax)
    .default([]),
}
const batchRequest = z.looseObject({
  ...acknowledgement,
  batch: z.array(
    z.looseObject({
      claims: z.unknown(),
      act: z.strictObject({ key: keyed, charged: z.boolean(), once: z.array(keyed).max(8).optional() }),
    }),
  ),
})
const acknowledgeRequest = z.looseObject({
  ...acknowledgement,
  /** The heads of other signers. */
  peers: z.array(headSchema).max(16).default([]),
})
export type BatchRequest = z.input<typeof batchRequest>

type Acknowledgement = Pick<z.output<typeof acknowledgeRequest>, 'acknowledge' | 'discarded'>

/** The record of the committed batches that the api reports. */
const reportRecords = (journal: Journal, at: number, report: Acknowledgement): JournalRecord[] => {
  const { acknowledge, discarded } = report
  // A journal that was restored to the past does not know later batches. Nobody can acknowledge what is yet to be signed.
  const before = new Set(journal.state().acknowledged)
  const acknowledged = [...new Set(acknowledge)].filter(
    (number) => number <= journal.state().batch && !before.has(number),
  )
  if (acknowledged.length === 0) return []
  return [{ kind: 'acknowledged', at, batches: acknowledged, ...(discarded.length > 0 ? { discarded } : {}) }]
}

/**
 * The most by which one call may advance a known head of another journal, or the numbers of a restored journal. This bounds
 * how many numbers a faulty or malicious api can waste with one call.
 */
export const jumpMax = 1_000_000_000
const isNear = (head: JournalHead, known: JournalHead | undefined): boolean =>
  head.sequence - (known?.sequence ?? 0) <= jumpMax &&
  (head.acknowledged ?? 0) - (known?.acknowledged ?? 0) <= jumpMax

type AcknowledgeParts = {
  readonly journal: Journal
  readonly clock: Clock
  /** The signers of the manifest. */
  readonly admittedSigners: () => readonly string[]
}
/** Journals an acknowledgement that came without a batch, and heads of other admitted signers that have moved. */
const acknowledge = ({ journal, clock, admittedSigners }: AcknowledgeParts, request: unknown): true => {
  const at = clock.now().getTime()
  const { peers, ...report } = acknowledgeRequest.parse(request)
  const known = new Map(journal.state().peers.map((head) => [head.signer, head]))
  const moved = peers
    .filter(({ signer, sequence }) => sequence > (known.get(signer)?.sequence ?? -1))
    .filter((head) => admittedSigners().includes(head.signer) && isNear(head, known.get(head.signer)))
    .map((head) => ({ kind: 'peer' as const, at, head }))
  const records = [...reportRecords(journal, at, report), ...moved]
  if (records.length > 0) journal.append(records)
  return true
}

type CredentialRequest = {
  readonly claims: ValidatedClaims
  readonly recordOf: (entry: JournalEntry) => JournalRecord
}

/** Validates a request, and says what the journal gets: first what is reported, then each credential. */
export const recordsOfRequest = (journal: Journal, clock: Clock, request: BatchRequest) => {
  const { batch: entries, ...report } = batchRequest.parse(request)
  const before = reportRecords(journal, clock.now().getTime(), report)
  const state = journal.state()
  const batch = state.batch + 1
  const credentials = entries.map(({ claims, act }): CredentialRequest => {
    const valid = validateClaims(claims)
    const { uri, idx } = valid.status.status_list
    return {
      claims: valid,
      recordOf: (entry) => ({
        kind: 'credential',
        ...entry,
        batch,
        agent: valid.agent,
        list: listIdOf(uri),
        index: idx,
        expiresAt: valid.exp * 1_000,
        ...act,
      }),
    }
  })
  const known = report.acknowledge.filter((number) => number <= state.batch)
  // The highest number, not the last report: an old batch may be reported late.
  const newest = [...known, ...state.acknowledged]
  return { batch, before, credentials, acknowledged: newest.length === 0 ? null : Math.max(...newest) }
}

type StatusSignerParts = {
  readonly signer: string
  readonly cell: string
  readonly journal: Journal
  readonly lists: SignedLists
}
type StatusPayload = {
  readonly sub: string
  readonly pohf_version: number
  readonly status_list: { readonly lst: string }
}
type Sign = (payload: unknown, recordOf: (entry: JournalEntry) => JournalRecord) => string

/** Signs a status list of this cell unless its version is below the last one. The list carries the head of the journal. */
export const makeStatusSigner =
  ({ signer, cell, journal, lists }: StatusSignerParts) =>
  (payload: unknown, sign: Sign): string => {
    const { sub, pohf_version: version, status_list: statusList } = payload as StatusPayload
    const list = listIdOf(sub)
    if (!list.startsWith(`${cell}-`))
      throw new Error(
        `status list ${list} is not of cell ${cell}, whose signer ${signer} was asked to sign it`,
      )
    const states = hashStates(statesOf(statusList.lst))
    lists.check({ list, version, states })
    const { sequence, chain } = journal.state()
    const jwt = sign({ ...(payload as object), pohf_journal: { signer, sequence, chain } }, (entry) => ({
      kind: 'typed',
      ...entry,
      list,
      version,
      states,
    }))
    lists.save({ list, version, states, jwt })
    return jwt
  }

/** What an api compares with the database. */
export type SignerState = JournalPosition & {
  readonly signer: string
  readonly batch: number
  readonly acknowledged: readonly number[]
  /** A signer of an earlier version does not say these two. */
  readonly unacknowledged?: readonly number[]
  readonly own?: JournalPosition
  readonly peers: readonly JournalHead[]
  readonly lists: readonly { readonly list: string; readonly version: number; readonly states: string }[]
}
const readSignerState = ({ signer, journal, lists }: StatusSignerParts): SignerState => {
  const { sequence, chain, batch, acknowledged, unacknowledged, peers, own } = journal.state()
  const versions = lists.all().map(({ list, version, states }) => ({ list, version, states }))
  return { signer, sequence, chain, batch, acknowledged, unacknowledged, peers, own, lists: versions }
}

const advanceRequest = z.looseObject({
  batch: counter,
  position: counter,
  published: z.array(z.string().max(2_100_000)).max(64).default([]),
})
export type AdvanceRequest = z.input<typeof advanceRequest>
type AdvanceParts = {
  readonly journal: Journal
  readonly lists: SignedLists
  readonly clock: Clock
  readonly keys: () => readonly KeyRecord[]
}

const decode = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))

/** A status list that was signed by a status key of this signer; anything else is refused. */
const readOwnList = (keys: readonly KeyRecord[], jwt: string) => {
  const [header = '', payload = '', signature = ''] = jwt.split('.')
  const { kid, typ } = decode(header) as { kid?: string; typ?: string }
  const key = keys.find((known) => known.kid === kid && known.purpose === 'status')
  const isOwn =
    key !== undefined &&
    typ === 'statuslist+jwt' &&
    verify(
      'sha256',
      Buffer.from(`${header}.${payload}`),
      { key: createPublicKey({ key: { ...key.jwk }, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
  if (!isOwn) throw new Error(`a published status list with key ${kid} was not signed by this signer`)
  const { sub, pohf_version: version, status_list: statusList } = decode(payload) as StatusPayload
  return { list: listIdOf(sub), version, states: hashStates(statesOf(statusList.lst)), jwt }
}

/**
 * For a journal that was restored to the past: skips the numbers that it gave out afterwards, and takes over newer versions
 * of its own status lists as they were published.
 */
const makeAdvance =
  ({ journal, lists, clock, keys }: AdvanceParts) =>
  (request: unknown): true => {
    const { batch, position, published } = advanceRequest.parse(request)
    const state = journal.state()
    if (batch > state.batch + jumpMax || position > state.sequence + jumpMax)
      throw new Error(`a journal at batch ${state.batch} does not advance to batch ${batch}`)
    for (const jwt of published) {
      const found = readOwnList(keys(), jwt)
      if (found.version > (lists.find(found.list)?.version ?? -1)) lists.save(found)
    }
    if (batch > state.batch || position > state.sequence)
      journal.append([
        {
          kind: 'advanced',
          at: clock.now().getTime(),
          batch: Math.max(batch, state.batch),
          position: Math.max(position, state.sequence),
        },
      ])
    return true
  }

/** What the signer answers for the restore of a database. */
export const makeRestoreOperations = (
  parts: AcknowledgeParts & AdvanceParts & StatusSignerParts & { readonly journalFolder: string },
) => ({
  acknowledge: (request: unknown) => acknowledge(parts, request),
  /** Where this signer's journal ends, what the database acknowledged, and the newest status lists. */
  state: () => readSignerState(parts),
  findStatusList: (list: string): string | undefined => parts.lists.find(list)?.jwt,
  readRecords: (span: JournalSpan) => readRecordPage(parts.journalFolder, span),
  advance: makeAdvance(parts),
})
