import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { compareWithJournal, readJournal } from '../../packages/server/src/signing/index.ts'
import { pollUntil } from '../../packages/server/test/fixtures/polling.ts'
import { closingAfter } from '../driver/closing.ts'
import { step } from '../driver/program.ts'
import { openService, waitUntilReady, withDatabase } from '../driver/service.ts'
import { claimsOf, makeVerifier, readKeySet, type KeySet } from './restore/service.ts'
import { seedAgents } from './verify-load/calls.ts'
import { newRecord, startLoad, type LoadCall, type VerifyRecord } from './verify-load/load.ts'

export type SignerKillOptions = {
  readonly kills: number
  readonly clients: number
  /** Another signer than the real one: to see that its fault is found. */
  readonly signer?: readonly string[]
}
export type SignerFindings = {
  readonly kills: number
  readonly killsDuringCalls: number
  readonly seconds: number
  readonly answered: number
  readonly refused: number
  readonly stored: number
  readonly signed: number
  readonly neverStored: number
  readonly faults: readonly string[]
}

/** A kill that no answer came before shows nothing. */
export const answersBetweenKills = 10

export type IssuedCredential = { readonly credentialId: string; readonly jwt: string }

/** The credentials that clients got. */
export const answeredOf = ({ acknowledged }: VerifyRecord): IssuedCredential[] =>
  [...acknowledged.values()].map((jwt) => ({ credentialId: String(claimsOf(jwt)['jti']), jwt }))

/** While the signer is away, calls may be refused as `overloaded`, and those of an agent without credits. */
const isAllowed = ({ status, error }: LoadCall): boolean =>
  status === 200 || status === 402 || (status === 503 && error === 'overloaded')

/** Every stored credential. */
export const readStored = (databaseUrl: string): Promise<IssuedCredential[]> =>
  withDatabase(databaseUrl, async (client) => {
    const stored = 'select credential_id as "credentialId", jwt from credentials'
    return (await client.query<IssuedCredential>(stored)).rows
  })

type AuditInput = {
  readonly answered: readonly IssuedCredential[]
  readonly stored: readonly IssuedCredential[]
  readonly lines: ReturnType<typeof readJournal>
  readonly keys: KeySet
}
/** What was answered is stored, what is stored is journaled, and all of it is signed by a published key. */
export const auditJournals = ({ answered, stored, lines, keys }: AuditInput): string[] => {
  const faults: string[] = []
  const jwtOf = new Map(stored.map(({ credentialId, jwt }) => [credentialId, jwt]))
  for (const { credentialId, jwt } of answered)
    if (jwtOf.get(credentialId) !== jwt) faults.push(`${credentialId} was answered and is not stored as such`)
  const linesOf = Map.groupBy(lines, (line) => line.id)
  for (const { credentialId, fault } of compareWithJournal([...stored, ...answered], linesOf))
    faults.push(`${credentialId}: ${fault}`)
  const isSigned = makeVerifier(keys)
  for (const { credentialId, jwt } of stored)
    if (!isSigned(jwt)) faults.push(`${credentialId} does not verify`)
  for (const { hash } of lines) if (hash.length !== 43) faults.push('the journal holds a torn line')
  return [...new Set(faults)]
}

/** Kills the signer at random moments under load, then compares answers, table and journal. */
export const runSignerKills = ({ kills, clients, signer }: SignerKillOptions): Promise<SignerFindings> =>
  closingAfter(async (defer) => {
    const service = await openService({
      name: 'signer',
      roles: ['signer', 'api'],
      settings: (folder) => ({ KEYS_DIR: join(folder, 'keys') }),
      ...(signer ? { signer } : {}),
    })
    defer(service.close)
    const { baseUrl, databaseUrl, folder, processes } = service
    const startedAt = performance.now()
    const agents = await seedAgents({ baseUrl, databaseUrl, sessions: 2_000 * (kills + 1) })
    const record = newRecord()
    const load = startLoad([baseUrl], agents, record, {
      clients,
      random: Math.random,
      twice: 0,
      idempotencyKeys: false,
      pauseMs: 25,
      timeoutMs: 30_000,
    })
    const answered = () => record.acknowledged.size
    let killsDuringCalls = 0
    for (let kill = 0; kill < kills; kill++) {
      step(`kill ${kill + 1}`)
      await waitUntilReady(baseUrl)
      const wanted = answered() + answersBetweenKills
      await pollUntil('calls are answered', async () => answered() >= wanted)
      await setTimeout(Math.random() * 600)
      if (load.pendingSince() < Infinity) killsDuringCalls++
      processes.signer.kill()
      // `/readyz` reuses a success for a second.
      await setTimeout(1_100)
    }
    await waitUntilReady(baseUrl)
    await load.stop(60_000)
    const seconds = (performance.now() - startedAt) / 1_000
    const keys = await readKeySet(baseUrl)
    const stored = await readStored(databaseUrl)
    const lines = readJournal(join(folder, 'keys', 'journal')).filter((line) => line.id.startsWith('crd_'))
    const known = new Set(stored.map(({ credentialId }) => credentialId))
    return {
      kills,
      killsDuringCalls,
      seconds: Math.round(seconds),
      answered: answered(),
      refused: load.calls.filter(({ status }) => status === 503).length,
      stored: stored.length,
      signed: lines.length,
      neverStored: lines.filter((line) => !known.has(line.id)).length,
      faults: [
        ...load.calls
          .filter((call) => !isAllowed(call))
          .map(({ status, error }) => `a call was answered ${status} ${error}`),
        ...load.faults,
        ...auditJournals({ answered: answeredOf(record), stored, lines, keys }),
      ],
    }
  })
