import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { readJournal } from '../../../packages/server/src/signing/index.ts'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import { readKeySet, type KeySet } from '../restore/service.ts'
import { answeredOf, auditJournals, readStored } from '../signer.ts'
import { compareAll, faultsOfCounts, type VerifyFindings } from '../verify-load/audit.ts'
import { closingAfter } from '../../driver/closing.ts'
import { step } from '../../driver/program.ts'
import {
  newRecord,
  startLoad,
  waitForProgress,
  type LoadCall,
  type VerifyRecord,
} from '../verify-load/load.ts'
import { hasSigner, openMachines, type MachinesDeployment } from './deployment.ts'
import {
  figuresOfRevocation,
  findForbidden,
  findRevocationFaults,
  gapOf,
  type Kill,
  type Revocation,
  type RevocationFigures,
} from './judgement.ts'
import { roles, type Machine, type Role } from './machine.ts'
import { randomFrom } from '../../driver/rounds.ts'
import { withDatabase } from '../../driver/service.ts'

export type MachinesOptions = {
  readonly kills: number
  readonly clients: number
  readonly seed: number
  readonly keep: boolean
}
export type MachinesFindings = VerifyFindings & {
  readonly seed: number
  readonly seconds: number
  readonly kills: number
  readonly statuses: Readonly<Record<string, number>>
  /** Signed and not stored: of two calls for one session at once, one is stored. */
  readonly neverStored: number
  readonly signedBy: Readonly<Record<string, number>>
  readonly revocations: readonly (Revocation & RevocationFigures)[]
}
/** For the picture and the tables of a report. */
export type MachinesRecord = {
  readonly startedAt: number
  readonly endedAt: number
  readonly machines: readonly Pick<Machine, 'name' | 'baseUrl'>[]
  readonly calls: readonly LoadCall[]
  readonly kills: readonly (Kill & { readonly gapMs: number })[]
}

/** A machine that boots starts four processes, and shares the processors with all that is measured. */
const recoveredMsMax = 300_000
const answerMsMax = 120_000
/** Without a success in this time, the next kill comes all the same. */
const progressMsMax = 15_000

const isReady = (machine: Machine): Promise<boolean> =>
  fetch(`${machine.baseUrl}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
    (response) => response.ok,
    () => false,
  )

/** Whether the worker that was started after the kill has a session at the database. Old sessions may still be there. */
const hasWorker = (databaseUrl: string, { address }: Machine, since: Date): Promise<boolean> =>
  withDatabase(databaseUrl, async (client) => {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where application_name = 'pohf-worker' and client_addr = $1 and backend_start > $2`,
      [address, since],
    )
    return (rowCount ?? 0) > 0
  })

/** Kills a part, boots the machine where it was all of it, and waits until everything works again. */
const killOnce = async (
  { databaseUrl }: MachinesDeployment,
  machine: Machine,
  { part, downMs }: { readonly part: Kill['part']; readonly downMs: number },
): Promise<Kill> => {
  const [killedAt, since] = [performance.now(), new Date()]
  if (part === 'machine') {
    await machine.cut()
    await setTimeout(downMs)
    machine.boot()
  } else machine.kill(part)
  const isRecovered: Readonly<Record<Role, () => Promise<boolean>>> = {
    api: () => isReady(machine),
    signer: () => hasSigner(machine),
    worker: () => hasWorker(databaseUrl, machine, since),
  }
  // The socket of a process that was just killed may still be there.
  await setTimeout(50)
  let backAt = Infinity
  try {
    for (const role of part === 'machine' ? roles : [part])
      await pollUntil(`${role} of ${machine.name} works again`, isRecovered[role], recoveredMsMax)
    backAt = performance.now()
  } catch {
    // `backAt` says so.
  }
  return { machine: machine.name, baseUrl: machine.baseUrl, part, killedAt, backAt }
}

const parts: readonly Kill['part'][] = [...roles, 'machine']

type Load = ReturnType<typeof startLoad>

const killAll = async (
  deployment: MachinesDeployment,
  { kills, random }: { readonly kills: number; readonly random: () => number },
  progress: () => number,
): Promise<Kill[]> => {
  const done: Kill[] = []
  while (done.length < kills) {
    await waitForProgress(progress, progressMsMax)
    const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)]
    const [machine, part] = [pick(deployment.machines) ?? deployment.machines[0], pick(parts) ?? 'machine']
    step(`kill ${done.length + 1}: ${part} of ${machine.name}`)
    const downMs = 3_000 + random() * 5_000
    await setTimeout(200 + random() * 1_300)
    const kill = await killOnce(deployment, machine, { part, downMs })
    done.push(kill)
    if (kill.backAt === Infinity) break
  }
  return done
}

/** Revokes the key that one machine signs with, by an operator of the other machine. */
const revokeUnderLoad = async (
  machines: MachinesDeployment['machines'],
  owner: Machine,
  at: Machine,
): Promise<Revocation> => {
  const keys = (await owner.operators.request({ op: 'list' })) as {
    kid: string
    purpose: string
    state: string
  }[]
  const kid = keys.find((key) => key.purpose === 'live' && key.state === 'active')?.kid
  if (kid === undefined) throw new Error(`the signer of ${owner.name} has no active live key`)
  const revokedAt = Date.now()
  await at.operators.revoke(kid, 'a revocation under load')
  let unpublishedMs = Infinity
  try {
    await pollUntil('it is unpublished', async () => {
      const sets = await Promise.all(machines.map(({ baseUrl }) => readKeySet(baseUrl)))
      return sets.every((set) => !set.keys.some((key) => key.kid === kid))
    })
    unpublishedMs = Date.now() - revokedAt
  } catch {
    // `unpublishedMs` says so.
  }
  // The load goes on: what the key signs from now on is in the journals.
  await setTimeout(Math.max(0, revokedAt + 10_000 - Date.now()))
  return { kid, owner: owner.name, revokedOn: at.name, revokedAt, unpublishedMs }
}

const countBy = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length]))

type RunResult = {
  readonly record: VerifyRecord
  readonly load: Load
  readonly kills: readonly Kill[]
  readonly revocations: readonly Revocation[]
  readonly keys: KeySet
}

/** Compares what was answered, stored, paid, delivered and journaled. */
const compare = async (
  { machines, databaseUrl, received }: MachinesDeployment,
  { record, load, kills, revocations, keys }: RunResult,
): Promise<Omit<MachinesFindings, 'seed' | 'seconds'>> => {
  const found = await compareAll(databaseUrl, record, load, received)
  const journals = machines.map(({ name, keysFolder }) => ({
    name,
    lines: readJournal(join(keysFolder, 'journal')).filter((line) => line.id.startsWith('crd_')),
  }))
  const lines = journals.flatMap((journal) => journal.lines)
  const stored = await readStored(databaseUrl)
  const known = new Set(stored.map(({ credentialId }) => credentialId))
  const revoked = revocations.map((each) => ({ ...each, ...figuresOfRevocation(each, lines) }))
  return {
    ...found,
    kills: kills.length,
    statuses: countBy(load.calls.map(({ status }) => String(status))),
    neverStored: lines.filter(({ id }) => !known.has(id)).length,
    signedBy: Object.fromEntries(journals.map((journal) => [journal.name, journal.lines.length])),
    revocations: revoked,
    faults: [
      ...faultsOfCounts(found),
      ...found.faults,
      ...findForbidden(load.calls, kills),
      ...auditJournals({ answered: answeredOf(record), stored, lines, keys }),
      ...revoked.flatMap((each) => findRevocationFaults(each, each)),
      ...kills
        .filter(({ backAt }) => backAt === Infinity)
        .map(({ machine, part }) => `${part} of ${machine} did not work again`),
    ],
  }
}

/** Kills processes and machines at random moments under load, revokes keys, and compares. */
export const runMachines = (
  options: MachinesOptions,
): Promise<{ findings: MachinesFindings; record: MachinesRecord }> =>
  closingAfter(async (defer) => {
    const random = randomFrom(options.seed)
    const deployment = await openMachines({ sessions: 2_000 * options.kills + 20_000, keep: options.keep })
    defer(deployment.close)
    const [first, second] = deployment.machines
    const keys = await readKeySet(first.baseUrl)
    const record = newRecord()
    const startedAt = performance.now()
    const baseUrls = deployment.machines.map(({ baseUrl }) => baseUrl)
    const load = startLoad(baseUrls, deployment.agents, record, {
      clients: options.clients,
      random: randomFrom(options.seed + 1),
      twice: 0.2,
      idempotencyKeys: false,
      // Both machines share the processors of this one, and what was killed needs them to start again.
      pauseMs: 150,
      arrivalMs: 250,
      timeoutMs: 30_000,
    })
    const progress = () => record.acknowledged.size
    const kills = await killAll(deployment, { kills: options.kills, random }, progress)
    step('revoking keys under load')
    await waitForProgress(progress, progressMsMax)
    const revocations = [
      await revokeUnderLoad(deployment.machines, first, second),
      await revokeUnderLoad(deployment.machines, second, first),
    ]
    await load.stop(answerMsMax)
    const endedAt = performance.now()
    const found = await compare(deployment, { record, load, kills, revocations, keys })
    return {
      findings: { seed: options.seed, seconds: Math.round((endedAt - startedAt) / 1_000), ...found },
      record: {
        startedAt,
        endedAt,
        machines: deployment.machines,
        calls: load.calls,
        kills: kills.map((kill) => ({ ...kill, gapMs: gapOf(kill, baseUrls, load.calls) })),
      },
    }
  })
