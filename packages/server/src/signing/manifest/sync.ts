import { inTransaction } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { signerUnavailable, type SignerConnection } from '../transport/signer-connection.ts'
import type { SignerManifests } from '../signer-server.ts'
import type { ManifestFiles } from './files.ts'
import { admissionOf, revokedKidOf } from './rules.ts'
import {
  findNewestManifest,
  insertManifest,
  insertRevocation,
  listManifestsFrom,
  listRevocations,
} from './store.ts'

/** What the last round found out about a signer. */
type SignerState = 'unknown' | 'admitted' | 'foreign' | 'not_admitted'
export type Endpoint = {
  readonly connection: SignerConnection
  state: SignerState
  /** The id of the signer that answered there last. */
  signer: string | undefined
  /** Until this time, as `performance.now()`, the signer is asked after all others, because it failed. */
  asideUntil: number
}

/** How long a signer that did not answer is asked after all others, unless a round finds that it answers again. */
export const unansweredMs = 30_000

type Answer = { readonly endpoint: Endpoint; readonly signerManifests: SignerManifests }
type SyncDeps = {
  readonly ctx: Ctx
  readonly manifests: ManifestFiles
  readonly endpoints: readonly Endpoint[]
}

/** Logs a fault when it begins, not every second. */
const makeFaultLog = (ctx: Ctx) => {
  const logged = new Set<string>()
  const loggedMax = 1_000
  return (fault: string, fields: object = {}): void => {
    if (logged.has(fault) || logged.size >= loggedMax) return
    logged.add(fault)
    ctx.log.error({ ...fields, fault }, 'signing keys refused')
  }
}
type FaultLog = ReturnType<typeof makeFaultLog>

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const restoreAdvice =
  'If its key folder was lost or replaced, restore KEYS_DIR from its backup. To add a new signer, admit it: docs/operate/keys.md'

/**
 * Pins the admission key of the signer at first contact. A deployment whose database knows another
 * admission key has published keys before: then the key folder of the signer is not the one of this deployment.
 */
const pinAdmissionKeyOfSigner = async (
  { ctx, manifests }: SyncDeps,
  answers: readonly Answer[],
): Promise<void> => {
  const offered = [...new Set(answers.flatMap(({ signerManifests }) => signerManifests.admission ?? []))]
  const [admission] = offered
  if (admission === undefined) return
  if (offered.length > 1)
    throw new Error(`the signers of SIGNER_URL belong to ${offered.length} deployments: set ADMISSION_KEY`)
  const stored = await inTransaction(ctx, 'system', findNewestManifest)
  const before = stored === undefined ? undefined : admissionOf(stored)
  if (before !== undefined && before !== admission)
    throw new Error(
      `this deployment has published keys of admission key ${before}, and the signer has ${admission}. ${restoreAdvice}`,
    )
  manifests.pin(admission)
  ctx.log.info({ admission }, 'admission key of the signer pinned')
}

/** Offers everything that a carrier brought; what does not verify is logged and left out. */
const takeOver = (
  manifests: ManifestFiles,
  brought: {
    readonly manifests: readonly string[]
    readonly revocations: readonly string[]
    readonly from: string
  },
  logFault: FaultLog,
): void => {
  for (const jws of brought.manifests)
    try {
      manifests.offer(jws)
    } catch (error) {
      logFault(messageOf(error), { from: brought.from })
    }
  const isOpen = (kid: string | undefined) =>
    manifests.current()?.manifest.keys.some((key) => key.kid === kid) === true
  // A carrier also holds revocations of keys that have left the manifest.
  for (const jws of brought.revocations.filter((each) => isOpen(revokedKidOf(each))))
    try {
      manifests.offerRevocation(jws)
    } catch (error) {
      logFault(messageOf(error), { from: brought.from })
    }
}

type SignerCheck = { readonly state: SignerState; readonly fault?: string }
/** Whether a signer may sign for this process, and otherwise what is wrong. */
const checkSigner = ({ ctx, manifests }: SyncDeps, signerManifests: SignerManifests): SignerCheck => {
  const fault = `is not admitted in this deployment. ${restoreAdvice}`
  if (signerManifests.admission !== manifests.admission()) return { state: 'foreign', fault }
  const known = manifests.current()?.manifest.signers.find(({ signer }) => signer === signerManifests.signer)
  if (!known) return { state: 'not_admitted', fault }
  // Its journal would be compared with credentials of another cell.
  if (known.cell !== ctx.config.CELL)
    return { state: 'not_admitted', fault: `is of cell ${known.cell}, and CELL here is ${ctx.config.CELL}` }
  return { state: 'admitted' }
}

/** Reads what other machines wrote, and writes what they lack. */
const makeDatabaseSync = ({ ctx, manifests }: SyncDeps, logFault: FaultLog) => {
  let storedVersion = 0
  return async (): Promise<void> => {
    const before = manifests.current()
    const from = Math.max(1, before?.manifest.version ?? 1)
    const stored = await inTransaction(ctx, 'system', async (tx) => ({
      manifests: await listManifestsFrom(tx, from),
      revocations: await listRevocations(tx),
    }))
    const fresh = stored.manifests.filter((jws) => jws !== before?.jws)
    takeOver(manifests, { manifests: fresh, revocations: stored.revocations, from: 'the database' }, logFault)
    const newest = manifests.current()
    if (!newest) return
    const isStored = stored.manifests.includes(newest.jws)
    // A database that was restored to the past has lost versions that it had.
    if (!isStored && storedVersion >= newest.manifest.version) storedVersion = 0
    const missing = isStored ? [] : manifests.since(storedVersion)
    const revocations = manifests.openRevocations().filter(({ jws }) => !stored.revocations.includes(jws))
    if (missing.length + revocations.length > 0)
      await inTransaction(ctx, 'system', async (tx) => {
        for (const row of missing) await insertManifest(tx, row)
        for (const { jws, revocation } of revocations)
          await insertRevocation(tx, { kid: revocation.kid, jws })
      })
    storedVersion = newest.manifest.version
  }
}

/** A signer takes this many revocations at once. */
const offeredMax = 100

/** Hands a signer what it lacks. */
const offerMissing = async (
  { manifests }: SyncDeps,
  { endpoint, signerManifests }: Answer,
): Promise<void> => {
  const newest = manifests.current()
  if (!newest || endpoint.state === 'foreign') return
  const isBehind = signerManifests.version <= newest.manifest.version && signerManifests.hash !== newest.hash
  const open = manifests.openRevocations().map(({ jws }) => jws)
  const revocations = open.filter((jws) => !signerManifests.revocations.includes(jws)).slice(0, offeredMax)
  if (!isBehind && revocations.length === 0) return
  const line =
    signerManifests.version === newest.manifest.version
      ? [newest.jws]
      : manifests.after(signerManifests.version)
  await endpoint.connection.request({ op: 'offer', manifests: isBehind ? line : [], revocations })
}

/**
 * Passes manifests and revocations on between the signers of this process, its own folder and the database, all of which
 * are only carriers. Every holder verifies for itself.
 */
export const makeManifestSync = (deps: SyncDeps): (() => Promise<void>) => {
  const { ctx, manifests, endpoints } = deps
  const logFault = makeFaultLog(ctx)
  const syncWithDatabase = makeDatabaseSync(deps, logFault)
  const askAll = async (): Promise<Answer[]> => {
    const after = manifests.current()?.manifest.version
    const answers = await Promise.allSettled(
      endpoints.map(async (endpoint): Promise<Answer> => {
        try {
          const signerManifests = await endpoint.connection.request({ op: 'exchange', after })
          endpoint.asideUntil = 0
          return { endpoint, signerManifests: signerManifests as SignerManifests }
        } catch (error) {
          // So only this round, every second, tries a signer that hangs, and no call of an agent does.
          endpoint.asideUntil = performance.now() + unansweredMs
          throw error
        }
      }),
    )
    const answered = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const [failed] = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
    if (answered.length === 0 && failed && !manifests.current()) throw failed
    return answered
  }
  return async () => {
    const answers = await askAll()
    if (manifests.admission() === undefined) await pinAdmissionKeyOfSigner(deps, answers)
    for (const { endpoint, signerManifests } of answers) {
      const isForeign = signerManifests.admission !== manifests.admission()
      const from = `the signer at ${endpoint.connection.name}`
      if (!isForeign) takeOver(manifests, { ...signerManifests, from }, logFault)
    }
    await syncWithDatabase().catch((error: unknown) =>
      ctx.log.debug({ err: error }, 'manifests not synchronised with the database'),
    )
    for (const { endpoint, signerManifests } of answers) {
      const { state, fault } = checkSigner(deps, signerManifests)
      endpoint.state = state
      endpoint.signer = signerManifests.signer
      if (fault !== undefined)
        logFault(`signer ${signerManifests.signer} at ${endpoint.connection.name} ${fault}`, {
          signer: signerManifests.signer,
          admission: signerManifests.admission,
        })
    }
    await Promise.allSettled(answers.map((answer) => offerMissing(deps, answer)))
    if (!manifests.current())
      throw signerUnavailable(
        new Error(`none of ${answers.length} signers that answered brought a key manifest`),
      )
  }
}
