import type { Operator } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { inLongTransaction, inTransaction } from '../../platform/db/db.ts'
import { compareWithSigners, type RestoreFinding } from './compare.ts'
import { readMissing } from './missing.ts'
import type { RestoreDeps } from './parts.ts'
import { verifySubmittedDocuments, type SubmittedDocuments } from './submitted-documents.ts'
import { readPublished } from './published.ts'
import type { Signer } from '../signer-client.ts'
import { jumpMax, type SignerState } from './signer-records.ts'
import {
  findLostSpan,
  insertBatches,
  insertEpoch,
  insertGivenUpBatches,
  insertValues,
  lockRestore,
} from './store.ts'

type Input = {
  readonly published: readonly string[]
  readonly credentials: readonly string[]
  /** Signers that do not answer and whose journals are given up. */
  readonly without: readonly string[]
}
type RestoreCounts = {
  recorded: number
  charged: number
  uncharged: number
  revoked: number
  unplaced: number
}

/** Signers whose journals cannot be read. Without them nobody knows what they signed in the lost span. */
export const findSilentSigners = async (
  signer: Signer,
  states: readonly SignerState[],
): Promise<readonly string[]> => {
  const answered = new Set(states.map((state) => state.signer))
  return (await signer.admittedSigners()).filter((id) => !answered.has(id))
}

const refuseUnlessNamed = (silent: readonly string[], without: readonly string[]): void => {
  const unnamed = silent.filter((id) => !without.includes(id))
  if (unnamed.length > 0)
    throw new Refusal('validation_failed', {
      details: unnamed.map((id) => ({
        path: 'body.without',
        code: 'missing',
        message: `signer ${id} does not answer: start it, or name it to give up its journal`,
      })),
    })
}

type Target = { readonly batch: number; readonly position: number; readonly published: readonly string[] }
/** In steps of at most `jumpMax`: a signer refuses a larger one. */
const advanceJournal = async (signer: Signer, state: SignerState, target: Target): Promise<void> => {
  let { batch, sequence: position } = state
  let published = target.published
  do {
    batch = Math.min(target.batch, batch + jumpMax)
    position = Math.min(target.position, position + jumpMax)
    await signer.advance(state.signer, { batch, position, published: [...published] })
    published = []
  } while (batch < target.batch || position < target.position)
}

/** A journal from the past skips the numbers that it gave out, and gets the newer versions of its lists back. */
const advanceJournals = async (
  { signer }: RestoreDeps,
  states: readonly SignerState[],
  findings: readonly RestoreFinding[],
  presented: SubmittedDocuments,
): Promise<void> => {
  for (const state of states) {
    const own = findings.filter((finding) => finding.signer === state.signer)
    const lists = presented.lists.filter(({ head }) => head?.signer === state.signer)
    const heads = lists.flatMap(({ head }) => head ?? [])
    // One position past those that were seen, because the journal may have another record at the same position.
    const skipped = own.some(({ part }) => part === 'journal') ? 1 : 0
    const positions = [...own.map(({ seen }) => seen.position), ...heads.map((head) => head.sequence)]
    const target = {
      batch: Math.max(state.batch, ...own.map(({ seen }) => seen.batch)),
      position: Math.max(state.sequence, ...positions) + skipped,
      published: lists.map(({ jwt }) => jwt),
    }
    if (lists.length > 0 || target.batch > state.batch || target.position > state.sequence)
      await advanceJournal(signer, state, target)
  }
}

/** Records what the journals name and the database lacks, a page in a transaction. */
const recordMissing = async (
  deps: RestoreDeps,
  states: readonly SignerState[],
  presented: SubmittedDocuments,
): Promise<{ recorded: RestoreCounts; batches: Map<string, ReadonlySet<number>> }> => {
  const { ctx, parts } = deps
  const recorded: RestoreCounts = { recorded: 0, charged: 0, uncharged: 0, revoked: 0, unplaced: 0 }
  const batches = new Map<string, ReadonlySet<number>>()
  const record = async (credentials: SubmittedDocuments['credentials'], once: readonly string[]) => {
    const result = await inTransaction(ctx, 'system', async (tx) => {
      await insertValues(tx, once)
      return parts.recordForgotten(tx, credentials)
    })
    recorded.recorded += result.recorded
    recorded.charged += result.charged
    recorded.uncharged += result.uncharged
    recorded.revoked += credentials.filter(({ state }) => state === 'revoked').length
  }
  const journals: Awaited<ReturnType<typeof readMissing>>[] = []
  for (const state of states) {
    const missing = await readMissing(deps, state)
    batches.set(state.signer, missing.batches)
    journals.push(missing)
  }
  const recordAll = async (state: 'issued' | 'revoked') => {
    for (const { pages } of journals)
      for await (const page of pages()) {
        const credentials = page.credentials.filter((credential) => credential.state === state)
        await record(credentials, state === 'issued' ? page.once : [])
        if (state === 'issued') recorded.unplaced += page.unplaced.length
      }
  }
  // First what was acknowledged: the journal of a signer that answered too late has the same credentials, unacknowledged.
  await recordAll('issued')
  await recordAll('revoked')
  // After the journals: they know the act, which most credentials do not say.
  const ids = presented.credentials.map(({ credentialId }) => credentialId)
  const known = await inTransaction(ctx, 'system', (tx) => parts.listKnownIds(tx, ids))
  await record(
    presented.credentials.filter(({ credentialId }) => !known.has(credentialId)),
    [],
  )
  return { recorded, batches }
}

const applyLists = async (
  { ctx, signer, parts }: RestoreDeps,
  states: readonly SignerState[],
  presented: SubmittedDocuments,
) => {
  const applied = []
  for (const published of await readPublished(signer, states, presented)) {
    const changed = await inLongTransaction(ctx, 'system', (tx) => parts.applyPublished(tx, published))
    applied.push({ list: published.list, publishedVersion: published.version, changed })
  }
  return applied
}

type CompletedBatches = {
  readonly batches: ReadonlyMap<string, ReadonlySet<number>>
  /** Of signers that do not answer. */
  readonly givenUp: readonly RestoreFinding[]
}

/** Voids what was open, as one transaction with the record of the restore. Minting continues after its commit. */
const raiseEpoch = (
  { ctx, parts, audit }: RestoreDeps,
  operator: Operator,
  { batches, givenUp }: CompletedBatches,
  report: { readonly journalLost: boolean } & Readonly<Record<string, unknown>>,
) =>
  inLongTransaction(ctx, 'system', async (tx) => {
    await lockRestore(tx)
    const voided: Record<string, number> = {}
    const span = { all: report.journalLost, ...(await findLostSpan(tx)) }
    for (const { name, run } of parts.voidOpen) voided[name] = await run(tx, span)
    for (const [id, numbers] of batches) await insertBatches(tx, id, [...numbers])
    for (const { signer: id, missing } of givenUp) await insertGivenUpBatches(tx, id, missing)
    const complete = { ...report, voided }
    const epoch = await insertEpoch(tx, complete)
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'restore.apply',
      target: `epoch ${epoch}`,
      details: complete,
    })
    return { epoch, voided }
  })

/**
 * Completes a restore: closes the status lists, records what the database has forgotten, applies the published states,
 * compares with chain and provider, voids what was open, and lets minting continue. Every step can be repeated, so a call
 * that was interrupted is made again.
 */
export const restoreApply = async (deps: RestoreDeps, operator: Operator, input: Input) => {
  const { ctx, signer, guard, parts } = deps
  const presented = await verifySubmittedDocuments(ctx, await signer.publicKeys(), input)
  const before = await compareWithSigners({ ctx, signer }, await guard.seen())
  const isNeeded = before.findings.length > 0 || presented.lists.length + presented.credentials.length > 0
  if (!isNeeded) return { applied: false as const, pending: false }
  const silent = await findSilentSigners(signer, before.states)
  refuseUnlessNamed(silent, input.without)
  const journalLost =
    before.findings.some(({ part }) => part === 'journal') || presented.lists.length + silent.length > 0
  const closedBlocks = await inTransaction(ctx, 'system', parts.closeLists)
  await advanceJournals(deps, before.states, before.findings, presented)
  // First the lists: they say in which state a forgotten credential is.
  const lists = await applyLists(deps, before.states, presented)
  // Before the charges: credits that were paid for in the lost span come back first.
  const reconciled: Record<string, number> = {}
  for (const { name, run } of parts.reconcile) reconciled[name] = await run()
  const { recorded, batches } = await recordMissing(deps, before.states, presented)
  for (const { signer: id, missing } of before.findings) {
    const known = batches.get(id)
    if (known) batches.set(id, new Set([...known, ...missing]))
  }
  const givenUp = before.findings.filter(({ signer: id }) => !batches.has(id))
  const report = { journalLost, without: silent, closedBlocks, ...recorded, lists, reconciled }
  const { epoch, voided } = await raiseEpoch(deps, operator, { batches, givenUp }, report)
  const findings = await guard.compareAgain()
  return { applied: true as const, epoch, ...report, voided, pending: findings.length > 0 }
}
