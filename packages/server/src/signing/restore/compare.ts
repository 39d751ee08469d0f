import type { Ctx } from '../../platform/ops/context.ts'
import { inReservedTransaction, readDatabaseIdentity, type Tx } from '../../platform/db/db.ts'
import type { JournalHead } from '../journal.ts'
import type { CommittedBatch, Signer } from '../signer-client.ts'
import type { DatabasePosition } from '../timelines.ts'
import type { SignerState } from './signer-records.ts'
import { findLastRestore, listBatches, listMissingBatches, listNewestBatches } from './store.ts'

/**
 * Why minting has stopped. `database`: it lacks batches that the signer knows to be committed. `journal`: the signer's
 * journal ends before what the database, another signer or a published list has seen of it.
 */
export type RestoreFinding = {
  readonly part: 'database' | 'journal'
  readonly signer: string
  /** `database`: the batches that it lacks, among the newest that the signer or another one knows to be acknowledged. */
  readonly missing: readonly number[]
  /** `journal`: the last batch and position that were seen of it. */
  readonly seen: { readonly batch: number; readonly position: number }
}

/** What is witnessed of a signer: its newest record that is not itself a witness of others. */
export const witnessedHead = ({ signer, sequence, chain, own, acknowledged }: SignerState): JournalHead => ({
  signer,
  ...(own ?? { sequence, chain }),
  ...(acknowledged.length > 0 ? { acknowledged: Math.max(...acknowledged) } : {}),
})

const acknowledgedIn = (heads: readonly JournalHead[]): number[] =>
  heads.flatMap(({ acknowledged }) => acknowledged ?? [])

type Witnesses = {
  /** Heads of the journal that were seen before the state of its signer was read. */
  readonly heads: readonly JournalHead[]
  /** The newest batch that the database had before. */
  readonly batch: number
  /** Acknowledged batches that others know of. */
  readonly acknowledged: readonly number[]
}

/** Compares one signer with the database. */
const compareSigner = async (tx: Tx, state: SignerState, witnesses: Witnesses): Promise<RestoreFinding[]> => {
  const { signer, acknowledged } = state
  const { heads, batch, acknowledged: witnessed } = witnesses
  const missing = await listMissingBatches(tx, signer, { acknowledged, witnessed })
  const position = Math.max(0, ...heads.map(({ sequence }) => sequence))
  const forked = heads.some(({ sequence, chain }) => sequence === state.sequence && chain !== state.chain)
  const seen = { batch: Math.max(state.batch, batch), position: Math.max(state.sequence, position) }
  const isJournalOld = seen.batch > state.batch || seen.position > state.sequence || forked
  return [
    ...(missing.length > 0 ? [{ part: 'database' as const, signer, missing, seen }] : []),
    ...(isJournalOld ? [{ part: 'journal' as const, signer, missing: [], seen }] : []),
  ]
}

/** Compares a signer that does not answer by what others know of it: its database may be from the past all the same. */
const compareSilent = async (
  tx: Tx,
  signer: string,
  known: readonly JournalHead[],
): Promise<RestoreFinding[]> => {
  const batches = acknowledgedIn(known)
  const missing = await listMissingBatches(tx, signer, { acknowledged: [], witnessed: batches })
  if (missing.length === 0) return []
  const position = Math.max(...known.map(({ sequence }) => sequence))
  return [{ part: 'database', signer, missing, seen: { batch: Math.max(...batches), position } }]
}

/**
 * Each signer journals where the others end, and their newest acknowledged batch: a journal that goes back alone is
 * noticed, and so is a database that went back while the signer of its batches is away.
 */
export const reportHeads = async (signer: Signer, states: readonly SignerState[]): Promise<void> => {
  const heads = states.map(witnessedHead)
  if (heads.length < 2) return
  for (const { signer: id } of heads)
    await signer.reportHeads(
      id,
      heads.filter((head) => head.signer !== id),
    )
}

/** Batches that the database has committed and the signer was not told of: the process that minted them ended too early. */
const listUnreported = async (tx: Tx, state: SignerState): Promise<CommittedBatch[]> => {
  const { signer, unacknowledged = [] } = state
  if (unacknowledged.length === 0) return []
  return (await listBatches(tx, signer, unacknowledged)).map((committed) => ({ signer, ...committed }))
}

type ComparisonResult = {
  readonly findings: RestoreFinding[]
  readonly states: SignerState[]
  readonly database: DatabasePosition
  readonly unreported: CommittedBatch[]
  /** When a restore was completed last, as the database says; 0 where none was. */
  readonly restoredAt: number
}

/** What was seen before the states of the signers are read. */
export type SeenJournals = {
  /** A journal must have these. */
  readonly heads: readonly JournalHead[]
  /** The database must have what these say is acknowledged: the last states of signers that may be silent now. */
  readonly inMemory: readonly JournalHead[]
}

/**
 * Compares the database with every signer, and each journal with what was seen of it. `seen` must have been read before the
 * journals: both grow while they are read, so the later reading must contain the earlier one.
 */
export const compareWithSigners = async (
  { ctx, signer }: { readonly ctx: Ctx; readonly signer: Pick<Signer, 'states'> },
  seen: SeenJournals,
): Promise<ComparisonResult> => {
  const newest = new Map(await inReservedTransaction(ctx, listNewestBatches))
  const states = await signer.states()
  const known = Map.groupBy(
    [...seen.heads, ...seen.inMemory, ...states.flatMap(({ peers }) => peers)],
    (head) => head.signer,
  )
  const silent = new Set(known.keys())
  // The signers were read first: the database must have at least what they had then.
  return inReservedTransaction(ctx, async (tx) => {
    const findings: RestoreFinding[] = []
    const unreported: CommittedBatch[] = []
    for (const state of states) {
      const { signer: id } = state
      silent.delete(id)
      const heads = seen.heads.filter((head) => head.signer === id)
      const acknowledged = acknowledgedIn(known.get(id) ?? [])
      findings.push(...(await compareSigner(tx, state, { heads, batch: newest.get(id) ?? 0, acknowledged })))
      unreported.push(...(await listUnreported(tx, state)))
    }
    for (const id of silent) findings.push(...(await compareSilent(tx, id, known.get(id) ?? [])))
    const restoredAt = await findLastRestore(tx)
    return { findings, states, database: await readDatabaseIdentity(tx), unreported, restoredAt }
  })
}
