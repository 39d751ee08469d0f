import { join } from 'node:path'
import type { CredentialClaims } from '@pohf/protocol'
import { inSingleStatement, readDatabaseIdentity } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { JournalAct, JournalHead, JournalPage, JournalSpan, RecordPage } from './journal.ts'
import type { SignerFigures } from './keyring.ts'
import { makeManifestSync, unansweredMs, type Endpoint } from './manifest/sync.ts'
import { openManifestFiles } from './manifest/files.ts'
import { publishedKeysOf } from './manifest/rules.ts'
import { makeAcknowledgements } from './restore/acknowledgements.ts'
import type { AdvanceRequest, SignerState } from './restore/signer-records.ts'
import type { KeyRecord, PublishedJwk, Typ } from './rules.ts'
import { noteCertificates } from './transport/certificates.ts'
import { signerAddressesOf } from './transport/signer-addresses.ts'
import {
  SignerFailure,
  openConnection,
  signerUnavailable,
  type SignerMessage,
} from './transport/signer-connection.ts'
import type { DatabasePosition } from './timelines.ts'

type SignRequest = {
  /** The database that the batch will be stored in. */
  readonly database: DatabasePosition
  readonly batch: readonly { readonly claims: CredentialClaims; readonly act: JournalAct }[]
}
/** A batch of a signer. The number is never used again. */
export type BatchId = { readonly signer: string; readonly batch: number }
/** A signed batch, and a batch that the database must have, where any was acknowledged. */
export type SignedBatch = BatchId & { readonly acknowledged: number | null; readonly jwts: string[] }
/** A batch that the database has, and those of its credentials that it did not store. */
export type CommittedBatch = BatchId & { readonly discarded: readonly string[] }

type ListedKey = Omit<KeyRecord, 'ref' | 'jwk'> & { readonly signer: string; readonly admitted: boolean }
/** The operations of the signer processes. This process never holds a private key. */
export type Signer = {
  /** Signs claims, each with the key of its mode. The signer validates them. */
  readonly sign: (request: SignRequest) => Promise<SignedBatch>
  /** Tells each signer which of its batches are committed: with the next batch, or half a second later. */
  readonly acknowledge: (committed: readonly CommittedBatch[]) => void
  /** The state of each signer that answers. */
  readonly states: () => Promise<SignerState[]>
  readonly readRecords: (signer: string, span: JournalSpan) => Promise<RecordPage>
  /** The newest version of a status list that a signer signed; undefined where none did. */
  readonly findStatusList: (list: string) => Promise<string | undefined>
  readonly advance: (signer: string, request: AdvanceRequest) => Promise<void>
  /** The signers of this cell that have published keys, whether they answer or not. */
  readonly admittedSigners: () => Promise<readonly string[]>
  /** Tells a signer where the journals of the others end, so that it can witness them. */
  readonly reportHeads: (signer: string, peers: readonly JournalHead[]) => Promise<void>
  readonly signTyped: (typ: Typ, payload: Readonly<Record<string, unknown>>) => Promise<string>
  /** The admitted keys of all signers. */
  readonly publicKeys: () => Promise<PublishedJwk[]>
  /** The keys of the signers that answer. */
  readonly list: () => Promise<ListedKey[]>
  /** The figures of the signers that answer. */
  readonly figures: () => Promise<SignerFigures[]>
  /** Fails where no admitted signer can sign, or not for this database. */
  readonly selfTest: (database?: DatabasePosition) => Promise<void>
  /** A reader for the journal of each signer. */
  readonly journals: readonly ((span: JournalSpan) => Promise<JournalPage>)[]
  /** Synchronises manifests and revocations with signers and database, now. */
  readonly syncManifests: () => Promise<void>
  /** Synchronises them every second, until `close`. */
  readonly startManifestSync: () => void
  /** Sends the last acknowledgements, then closes the connections. */
  readonly close: () => Promise<void>
}

/** Keys change rarely and are published a day ahead, so manifests stay good for a few seconds. */
const keysCacheMs = 5_000
/** A revocation takes at most two rounds: to the database, and from there to the other machines. */
const syncEveryMs = 1_000
/** A lone signer gets more time than one that another can stand in for. */
const timeoutMs = { alone: 5_000, several: 2_000 }
/** The timeout of a question: shorter where another signer can answer it or has witnessed the answer. */
const questionMs = { alone: timeoutMs.alone, several: 1_000 }
/** How long a signer that failed is asked after all others. */
const asideMs = 1_000

/** A signature that no published key made, or a revoked one. It is never stored. */
class UnpublishedKey extends Error {}
/** Another signer may do what this one did not. */
const mayFailOver = (error: unknown): boolean =>
  error instanceof UnpublishedKey ||
  (error instanceof Refusal && error.code === 'overloaded') ||
  (error instanceof SignerFailure && error.code === 'cannot_sign')

/** What the caller sees: a signer that cannot sign now is 503, a request that it refuses is a fault of ours. */
const answerFor = (error: unknown): unknown =>
  error instanceof UnpublishedKey || (error instanceof SignerFailure && error.code !== undefined)
    ? signerUnavailable(error)
    : error

type CurrentManifest = ReturnType<ReturnType<typeof openManifestFiles>['current']>

const kidOfJws = (jws: string): unknown => {
  const header = Buffer.from(jws.split('.')[0] ?? '', 'base64url').toString('utf8')
  return (JSON.parse(header) as { kid?: unknown }).kid
}

/** Asks the signers one after another until one does it. */
const makeRequestAny = (endpoints: readonly Endpoint[]) => {
  const inOrder = (): Endpoint[] => {
    const now = performance.now()
    return endpoints.toSorted((a, b) => Number(a.asideUntil > now) - Number(b.asideUntil > now))
  }
  return async <T>(attempt: (endpoint: Endpoint) => Promise<T>): Promise<T> => {
    let failure: unknown
    for (const endpoint of inOrder()) {
      const { connection, state } = endpoint
      try {
        if (state === 'foreign' || state === 'not_admitted')
          throw new UnpublishedKey(`the signer at ${connection.name} is not admitted in this deployment`)
        return await attempt(endpoint)
      } catch (error) {
        if (!mayFailOver(error)) throw answerFor(error)
        const ms = error instanceof Refusal ? unansweredMs : asideMs
        endpoint.asideUntil = performance.now() + ms
        failure = error
      }
    }
    throw answerFor(failure)
  }
}

/** Until when each key of the newest manifest is published, indexed once for each manifest: it is asked on each mint. */
const makePublishIndex = () => {
  let index: { readonly hash: string; readonly until: ReadonlyMap<unknown, number> } | undefined
  return ({ hash, manifest }: NonNullable<CurrentManifest>): ReadonlyMap<unknown, number> => {
    if (index?.hash !== hash)
      index = { hash, until: new Map(manifest.keys.map(({ kid, publishUntil }) => [kid, publishUntil])) }
    return index.until
  }
}

/** The published keys of this process, synchronised again when they are old. */
const makeKeySet = (ctx: Ctx, endpoints: readonly Endpoint[]) => {
  const manifests = openManifestFiles(join(ctx.config.DATA_DIR, 'manifests'), ctx.config.ADMISSION_KEY)
  const sync = makeManifestSync({ ctx, manifests, endpoints })
  let running: Promise<void> | undefined
  let syncedAt: number | undefined
  const syncManifests = (): Promise<void> => {
    running ??= sync()
      .then(() => {
        syncedAt = ctx.clock.now().getTime()
      })
      .finally(() => {
        running = undefined
      })
    return running
  }
  // A clock that was set back must not extend the life of what is cached.
  const isOld = () => syncedAt === undefined || Math.abs(ctx.clock.now().getTime() - syncedAt) >= keysCacheMs
  const publicKeys = async (): Promise<PublishedJwk[]> => {
    if (isOld())
      await syncManifests().catch((error: unknown) => {
        // Verification must not depend on a signer: the keys on disk are good.
        if (!manifests.current()) throw error
      })
    const newest = manifests.current()
    if (!newest) throw signerUnavailable(new Error(`no key manifest is known of ${endpoints.length} signers`))
    return publishedKeysOf(newest.manifest, manifests.isRevoked, ctx.clock.now().getTime())
  }
  const publishedUntil = makePublishIndex()
  /** Whether every signature is by a published key. */
  const holds = async (jwss: readonly string[]): Promise<boolean> => {
    if (isOld()) await publicKeys()
    const newest = manifests.current()
    if (!newest) return false
    const until = publishedUntil(newest)
    const now = ctx.clock.now().getTime()
    return jwss.map(kidOfJws).every((kid) => (until.get(kid) ?? 0) > now && !manifests.isRevoked(String(kid)))
  }
  const admittedSigners = async (): Promise<readonly string[]> => {
    const published = new Set((await publicKeys()).map(({ kid }) => kid))
    const keys = manifests.current()?.manifest.keys ?? []
    const own = keys.filter(({ kid, cell }) => published.has(kid) && cell === ctx.config.CELL)
    return [...new Set(own.map(({ signer }) => signer))]
  }
  return {
    syncManifests,
    publicKeys,
    admittedSigners,
    hasManifest: () => manifests.current() !== undefined,
    /** Refuses signatures of keys that are not published. A new key is looked for once. */
    requirePublished: async (jwss: readonly string[], signer: string): Promise<void> => {
      if (await holds(jwss)) return
      await syncManifests()
      if (!(await holds(jwss)))
        throw new UnpublishedKey(`a signature of the ${signer} is by a key that is not published`)
    },
  }
}

const questionMsOf = (endpoints: readonly Endpoint[]): number =>
  endpoints.length > 1 ? questionMs.several : questionMs.alone

type SignerAnswer<T> = { readonly endpoint: Endpoint; readonly answer: T }
/** The answers of all signers that answer in time; fails where none does. */
const requestAll = async <T>(
  endpoints: readonly Endpoint[],
  message: SignerMessage,
): Promise<SignerAnswer<T>[]> => {
  const limitMs = questionMsOf(endpoints)
  const answers = await Promise.allSettled(
    endpoints.map(async (endpoint): Promise<SignerAnswer<T>> => {
      const answer = await endpoint.connection.requestWithin(limitMs, message)
      return { endpoint, answer: answer as T }
    }),
  )
  const answered = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  const [failed] = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
  if (answered.length === 0) throw failed
  return answered
}

/** The version in a signed status list. */
export const versionOfList = (jwt: string): number => {
  const payload = Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')
  return (JSON.parse(payload) as { pohf_version: number }).pohf_version
}

const isForOther = (error: unknown): error is SignerFailure =>
  error instanceof SignerFailure && error.code === 'other_signer'

/** The batches that each signer is still to be told of. A signer is known by its id, wherever it listens. */
const makeReports = (endpoints: readonly Endpoint[]) => {
  const endpointOf = (signer: string): Endpoint => {
    const endpoint = endpoints.find((each) => each.signer === signer)
    if (!endpoint) throw signerUnavailable(new Error(`signer ${signer} has not answered this process yet`))
    return endpoint
  }
  /** Each request names its signer: another one may listen at the address by now. */
  const request = async (signer: string, message: SignerMessage): Promise<unknown> => {
    const endpoint = endpointOf(signer)
    try {
      return await endpoint.connection.request({ ...message, for: signer })
    } catch (error) {
      if (!isForOther(error)) throw error
      endpoint.signer = undefined
      throw signerUnavailable(error)
    }
  }
  const unreported = new Map<string, ReturnType<typeof makeAcknowledgements>>()
  const unreportedFor = (signer: string) => {
    const known =
      unreported.get(signer) ??
      makeAcknowledgements(async (report) => {
        await request(signer, { op: 'acknowledge', ...report })
      })
    unreported.set(signer, known)
    return known
  }
  /** Sends a batch to a signer, with what it is still to be told. */
  const sign = async (endpoint: Endpoint, batch: SignRequest): Promise<SignedBatch> => {
    const known = endpoint.signer
    const own = known === undefined ? undefined : unreportedFor(known)
    const report = own?.take()
    try {
      const message = { op: 'sign', ...batch, ...report, for: known }
      const signed = (await endpoint.connection.request(message)) as SignedBatch
      endpoint.signer = signed.signer
      return signed
    } catch (error) {
      if (report) own?.putBack(report)
      if (!isForOther(error)) throw error
      endpoint.signer = undefined
      return sign(endpoint, batch)
    }
  }
  return {
    request,
    sign,
    acknowledge: (committed: readonly CommittedBatch[]): void => {
      for (const [signer, batches] of Map.groupBy(committed, (batch) => batch.signer))
        unreportedFor(signer).add(batches)
    },
    stop: async (): Promise<void> => {
      await Promise.all([...unreported.values()].map((each) => each.stop()))
    },
  }
}

/** What only a restore needs. */
const restoreRequests = (
  endpoints: readonly Endpoint[],
  reports: ReturnType<typeof makeReports>,
): Pick<Signer, 'states' | 'readRecords' | 'findStatusList' | 'advance' | 'reportHeads'> => ({
  states: async () => {
    const answered = await requestAll<SignerState>(endpoints, { op: 'state' })
    return answered.map(({ endpoint, answer }) => {
      endpoint.signer = answer.signer
      return answer
    })
  },
  readRecords: async (signer, span) => (await reports.request(signer, { op: 'records', span })) as RecordPage,
  findStatusList: async (list) => {
    const found = await requestAll<string | null>(endpoints, { op: 'status-list', list })
    return found
      .flatMap(({ answer }) => answer ?? [])
      .toSorted((a, b) => versionOfList(b) - versionOfList(a))
      .at(0)
  },
  advance: async (signer, request) => {
    await reports.request(signer, { op: 'advance', ...request })
  },
  reportHeads: async (signer, peers) => {
    await reports.request(signer, { op: 'acknowledge', peers })
  },
})

const openEndpoints = (ctx: Ctx): Endpoint[] => {
  const addresses = signerAddressesOf(ctx.config)
  // Every address with TLS has the same certificates, those of the settings.
  const identity = addresses.flatMap((address) => ('identity' in address ? [address.identity] : [])).at(0)
  if (identity) noteCertificates(ctx.metrics, identity)
  const limitMs = addresses.length > 1 ? timeoutMs.several : timeoutMs.alone
  return addresses.map((address) => ({
    connection: openConnection(address, limitMs),
    state: 'unknown',
    signer: undefined,
    asideUntil: 0,
  }))
}

/** Connects to every signer of the settings. Opens no connection before the first request. */
export const connectSigner = (ctx: Ctx): Signer => {
  const endpoints = openEndpoints(ctx)
  const keySet = makeKeySet(ctx, endpoints)
  const requestAny = makeRequestAny(endpoints)
  const reports = makeReports(endpoints)
  let timer: NodeJS.Timeout | undefined
  return {
    sign: (request) =>
      requestAny(async (endpoint) => {
        const signed = await reports.sign(endpoint, request)
        await keySet.requirePublished(signed.jwts, `signer ${signed.signer}`)
        return signed
      }),
    acknowledge: reports.acknowledge,
    ...restoreRequests(endpoints, reports),
    signTyped: async (typ, payload) => {
      const database = await inSingleStatement(ctx, readDatabaseIdentity)
      return requestAny(async ({ connection }) => {
        const jws = (await connection.request({ op: 'sign-typed', database, typ, payload })) as string
        await keySet.requirePublished([jws], `signer of a ${typ}`)
        return jws
      })
    },
    publicKeys: keySet.publicKeys,
    admittedSigners: keySet.admittedSigners,
    list: async () =>
      (await requestAll<ListedKey[]>(endpoints, { op: 'list' })).flatMap(({ answer }) => answer),
    figures: async () =>
      (await requestAll<SignerFigures>(endpoints, { op: 'figures' })).map(({ answer }) => answer),
    selfTest: async (database) => {
      // Known keys are good enough: a synchronisation takes several statements, and readiness has little time on a slow path.
      if (!keySet.hasManifest()) await keySet.publicKeys()
      const limitMs = questionMsOf(endpoints)
      await requestAny(({ connection }) => connection.requestWithin(limitMs, { op: 'self-test', database }))
    },
    journals: endpoints.map(
      ({ connection }) =>
        async (span) =>
          (await connection.request({ op: 'journal', span })) as JournalPage,
    ),
    syncManifests: keySet.syncManifests,
    startManifestSync: () => {
      timer ??= setInterval(() => {
        // It is tried again in a second, and requests that fail are logged.
        keySet
          .syncManifests()
          .catch((error: unknown) => ctx.log.debug({ err: error }, 'manifests not synchronised'))
      }, syncEveryMs).unref()
    },
    close: async () => {
      clearInterval(timer)
      await reports.stop()
      for (const { connection } of endpoints) connection.close()
    },
  }
}
