import { inTransaction } from '../../platform/db/db.ts'
import type { ChainedRecord, JournalSpan, SignedRecord } from '../journal.ts'
import type { Signer } from '../signer-client.ts'
import type { MissingCredential, RestoreDeps } from './parts.ts'
import type { SignerState } from './signer-records.ts'
import { findNewestBatch } from './store.ts'

/** The clock of the signer may differ from the database's, and a batch commits after it was signed. */
const marginMs = 600_000
const endOfTime = 8_640_000_000_000

async function* readPages(signer: Signer, id: string, from: number) {
  let cursor: JournalSpan['cursor']
  let previous: ChainedRecord | undefined
  do {
    const page = await signer.readRecords(id, { from, to: endOfTime, ...(cursor ? { cursor } : {}) })
    const first = page.records[0]
    if (previous && first && first.sequence !== previous.sequence + 1 && first.kind !== 'advanced')
      throw new Error(`the journal of ${id} lacks records between ${previous.sequence} and ${first.sequence}`)
    previous = page.records.at(-1) ?? previous
    yield page
    cursor = page.next
  } while (cursor)
}

/** What the journal says about batches since the restore point: acknowledged ones, and credentials that nobody has. */
type JournalBatches = {
  readonly batches: ReadonlySet<number>
  readonly acknowledged: ReadonlySet<number>
  readonly discarded: ReadonlySet<string>
}
const readAcknowledged = async (signer: Signer, id: string, from: number): Promise<JournalBatches> => {
  const batches = new Set<number>()
  const acknowledged = new Set<number>()
  const discarded = new Set<string>()
  for await (const { records } of readPages(signer, id, from))
    for (const record of records) {
      if (record.kind === 'credential') batches.add(record.batch)
      if (record.kind !== 'acknowledged') continue
      for (const batch of record.batches) acknowledged.add(batch)
      for (const credentialId of record.discarded ?? []) discarded.add(credentialId)
    }
  return { batches, acknowledged, discarded }
}

const missingOf = (signer: string, record: SignedRecord, isAcknowledged: boolean): MissingCredential => ({
  agentId: record.agent,
  credentialId: record.id,
  signer,
  batch: record.batch,
  actKey: isAcknowledged ? record.key : null,
  hash: record.hash,
  list: record.list,
  index: record.index,
  signedAt: new Date(record.at),
  expiresAt: new Date(record.expiresAt),
  charged: isAcknowledged && record.charged,
  state: isAcknowledged ? 'issued' : 'revoked',
})

export type MissingPage = {
  readonly credentials: readonly MissingCredential[]
  /** Keyed values that count once, of credentials that were acknowledged. */
  readonly once: readonly string[]
  /** Credentials in lines of the first version, of which the journal has neither act nor index. */
  readonly unplaced: readonly string[]
}

/** Every credential of a signer's journal that the database does not have, a page at a time. */
export const readMissing = async (
  { ctx, signer, parts }: Pick<RestoreDeps, 'ctx' | 'signer' | 'parts'>,
  { signer: id }: Pick<SignerState, 'signer'>,
) => {
  const newest = await inTransaction(ctx, 'system', (tx) => findNewestBatch(tx, id))
  const from = newest ? Math.max(0, newest.at.getTime() - marginMs) : 0
  const { batches, acknowledged, discarded } = await readAcknowledged(signer, id, from)
  const pages = async function* (): AsyncGenerator<MissingPage> {
    for await (const page of readPages(signer, id, from)) {
      const signed = page.records.filter((record) => record.kind === 'credential')
      const plain = page.plain.filter((entry) => entry.id.startsWith('crd_')).map((entry) => entry.id)
      const ids = [...signed.map((record) => record.id), ...plain]
      const known = await inTransaction(ctx, 'system', (tx) => parts.listKnownIds(tx, ids))
      const missing = signed.filter((record) => !known.has(record.id) && !discarded.has(record.id))
      yield {
        credentials: missing.map((record) => missingOf(id, record, acknowledged.has(record.batch))),
        once: missing.flatMap((record) => (acknowledged.has(record.batch) ? (record.once ?? []) : [])),
        unplaced: plain.filter((credentialId) => !known.has(credentialId)),
      }
    }
  }
  return { from: new Date(from), batches: new Set([...batches, ...acknowledged]), pages }
}
