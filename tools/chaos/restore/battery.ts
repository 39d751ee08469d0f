import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import { openService, type TimelineEvent, type RestoreOptions, type Service } from './deployment.ts'
import { findFaults } from './faults.ts'
import {
  countRevertedLists,
  countUnrevoked,
  makeOperator,
  mintAll,
  pick,
  publishSoon,
  readVersions,
  registerAgent,
  revokeAll,
  sessionNames,
  waitUntilAcknowledged,
} from './actions.ts'
import { countUnverifiable, request, runCommand, seedSessions } from './service.ts'
import { closingAfter } from '../../driver/closing.ts'
import { waitUntilReady, withDatabase } from '../../driver/service.ts'

export type RestoreFindings = {
  readonly figures: Readonly<Record<string, number>>
  readonly timeline: readonly TimelineEvent[]
  /** The times of acknowledged mints. */
  readonly mints: readonly number[]
  readonly faults: readonly string[]
}

/** The time before the loss: credentials, a restore point, more credentials, and revocations that are published. */
const runBeforeLoss = async (service: Service, key: string) => {
  const agent = await registerAgent(service)
  const names = { before: sessionNames('before', service.before), lost: sessionNames('lost', service.lost) }
  await withDatabase(service.databaseUrl, (client) =>
    seedSessions(client, agent.agentId, [...names.before, ...names.lost]),
  )
  service.cluster.takeBaseBackup()
  service.note('base backup')
  const before = await mintAll(service, agent, names.before)
  await service.money.buy(service.purchases)
  const checkouts = await service.money.openCheckouts(agent.apiKey)
  await waitUntilAcknowledged(service)
  await service.cluster.createRestorePoint('battery')
  service.note('restore point')
  for (const name of ['journal', 'status'])
    cpSync(join(service.folder, 'keys', name), join(service.folder, `${name}.old`), { recursive: true })
  const lost = await mintAll(service, agent, names.lost)
  const revoked = [...pick(service.random, before.held, 20), ...pick(service.random, lost.held, 20)]
  await revokeAll(service, key, revoked)
  await publishSoon(service)
  service.note('revoked')
  const bought = await service.money.buy(service.purchases)
  const undelivered = await service.money.payOutside(service.purchases)
  await service.money.payCheckouts(checkouts)
  await pollUntil('card events are delivered', service.money.isDelivered)
  const unpublished = await countUnrevoked(revoked, 60_000)
  service.note('revocations published')
  const boughtCredentials = bought.map(({ held }) => held)
  await service.mirror.copyLists([...before.held, ...lost.held, ...boughtCredentials].map(({ uri }) => uri))
  const { json } = await request(`${service.baseUrl}/api/agents/credits/balance`, 'GET', agent.apiKey)
  await waitUntilAcknowledged(service)
  return {
    agent,
    key,
    before: before.held,
    lost: lost.held,
    bought,
    undelivered,
    versions: await readVersions(new Set([...before.held, ...lost.held].map(({ uri }) => uri))),
    revoked,
    unpublished,
    balance: Number(json['balance']),
  }
}
export type BeforeLoss = Awaited<ReturnType<typeof runBeforeLoss>>

/** The loss, and the restore to the point before it. */
const restoreToPoint = async (service: Service): Promise<void> => {
  await service.plantFault('lost')
  await service.stop()
  service.note('service and database lost')
  await service.cluster.restoreTo('battery')
  if (service.journal === 'rewound')
    for (const name of ['journal', 'status']) {
      rmSync(join(service.folder, 'keys', name), { recursive: true })
      renameSync(join(service.folder, `${name}.old`), join(service.folder, 'keys', name))
    }
  await service.plantFault('restored')
  service.note('database restored')
  service.start()
}

/** Whether nothing is minted by itself, and reading goes on. */
const probePending = async (service: Service, { agent, before, revoked }: BeforeLoss): Promise<string[]> => {
  const faults: string[] = []
  await waitUntilReady(service.baseUrl, '/readyz?for=read')
  const [first] = before
  const attempt = { sessionId: 'lost0' }
  const { status, json } = await request(
    `${service.baseUrl}/api/agents/verify`,
    'POST',
    agent.apiKey,
    attempt,
  )
  if (status !== 503 || json['error'] !== 'restore_pending')
    faults.push(`a mint before the restore was completed was answered ${status} ${String(json['error'])}`)
  if (first && (await fetch(first.uri)).status !== 200)
    faults.push('a status list is not served while a restore is pending')
  if (service.journal === 'kept' && (await countUnrevoked(revoked, 0)) > 0)
    faults.push('a published revocation is not served while a restore is pending')
  return faults
}

/** The commands of the runbook, with the time that they take. */
export const runRunbook = async (service: Service, beforeLoss: BeforeLoss) => {
  const startedAt = performance.now()
  const { key, lost, bought, revoked, versions } = beforeLoss
  const env = { ...service.env, POHF_OPERATOR_KEY: key }
  const remote = ['--url', service.operator]
  const plan = await runCommand(['restore', 'plan', ...remote], env)
  const found: string[] = []
  if (service.journal === 'rewound') {
    const files = service.mirror.lists().map((jwt, n) => {
      const file = join(service.folder, `list-${n}.jwt`)
      writeFileSync(file, jwt)
      return file
    })
    const credentials = join(service.folder, 'presented.txt')
    const presented = [...lost, ...bought.map(({ held }) => held)]
    writeFileSync(credentials, presented.map(({ jwt }) => jwt).join('\n'))
    found.push('--published', ...files, '--credentials', credentials)
  }
  const applied = await runCommand(['restore', 'apply', ...remote, ...found], env)
  const unrevoked = await countUnrevoked(revoked, 0)
  const listsBack = await countRevertedLists(versions)
  const [after, ledger] = await Promise.all([
    runCommand(['restore', 'plan', ...remote], env),
    runCommand(['ledger', 'check', '--whole', ...remote], env),
  ])
  await waitUntilReady(service.baseUrl)
  await service.plantFault('applied')
  return {
    plan,
    applied,
    unrevoked,
    listsBack,
    after,
    ledger,
    seconds: (performance.now() - startedAt) / 1_000,
  }
}

/** The time after: new credentials, the lost ones again, and the revocation of all lost ones. */
export const runAfterRestore = async (service: Service, beforeLoss: BeforeLoss) => {
  const { agent, key, before, bought } = beforeLoss
  const lost = [...beforeLoss.lost, ...bought.map(({ held }) => held)]
  // First, while the ids of their purchases are valid.
  const paidAgain = await service.money.payAgain(bought.map(({ payment }) => payment))
  const paidOutside = await service.money.payAgain(beforeLoss.undelivered)
  const names = sessionNames('after', service.after)
  await withDatabase(service.databaseUrl, (client) => seedSessions(client, agent.agentId, names))
  const after = await mintAll(service, agent, names)
  service.note('minted')
  const used = new Set([...before, ...lost].map(({ uri, idx }) => `${uri} ${idx}`))
  const lists = new Set([...before, ...lost].map(({ uri }) => uri))
  const again = await mintAll(
    service,
    agent,
    beforeLoss.lost.map(({ sessionId }) => sessionId),
  )
  const unrevokable = await revokeAll(service, key, lost)
  await publishSoon(service)
  const stillValid = await countUnrevoked([...beforeLoss.revoked, ...lost], service.plant ? 15_000 : 90_000)
  service.note('lost ones revoked')
  const { json } = await request(`${service.baseUrl}/api/agents/credits/balance`, 'GET', agent.apiKey)
  const boughtAfter = await service.money.buy(service.purchases)
  const ledger = await request(`${service.operator}/operator/ledger/check?whole=1`, 'GET', key)
  return {
    after,
    again,
    unrevokable,
    stillValid,
    paidAgain,
    paidOutside,
    boughtAfter,
    ledgerOk: ledger.json['ok'] === true,
    unposted: await service.money.countUnposted(service.databaseUrl),
    nonceFaults: await service.money.countNonceFaults(service.databaseUrl),
    reused: after.held.filter(({ uri, idx }) => used.has(`${uri} ${idx}`)).length,
    inOldLists: after.held.filter(({ uri }) => lists.has(uri)).length,
    unverifiable: await countUnverifiable(
      service.baseUrl,
      [...before, ...lost, ...after.held].map(({ jwt }) => jwt),
    ),
    balance: Number(json['balance']),
  }
}

/** Mints, loses the database, restores it to a point in the past, completes the restore, and counts. */
export const runRestore = (options: RestoreOptions): Promise<RestoreFindings> =>
  closingAfter(async (defer) => {
    const service = await openService(options)
    defer(service.close)
    service.start()
    const [key] = await Promise.all([makeOperator(service), waitUntilReady(service.baseUrl)])
    service.note('service started')
    const beforeLoss = await runBeforeLoss(service, key)
    await restoreToPoint(service)
    const pendingFaults = await probePending(service, beforeLoss)
    service.note('restore pending')
    const runbook = await runRunbook(service, beforeLoss)
    service.note('restore completed')
    const present = await runAfterRestore(service, beforeLoss)
    service.note('end')
    return {
      figures: {
        credentialsBefore: beforeLoss.before.length,
        credentialsLost: beforeLoss.lost.length,
        credentialsAfter: present.after.held.length,
        purchasesLost: beforeLoss.bought.length,
        purchasesAfter: present.boughtAfter.length,
        paidAndNotDelivered: beforeLoss.undelivered.length,
        deliveredTwice: present.paidAgain['200'] ?? 0,
        deliveredAfterwards: present.paidOutside['200'] ?? 0,
        paymentsNotInTheLedger: present.unposted,
        gasNonceFaults: present.nonceFaults,
        revokedBeforeTheLoss: beforeLoss.revoked.length,
        revocationsTakenBack: runbook.unrevoked,
        listsTakenBack: runbook.listsBack,
        recorded: Number(runbook.applied['recorded'] ?? 0),
        chargedAgain: Number(runbook.applied['charged'] ?? 0),
        indexesReused: present.reused,
        indexesInOldLists: present.inOldLists,
        mintedTwice: present.again.held.length,
        notRevocable: present.unrevokable,
        validThoughRevoked: present.stillValid,
        notVerifiable: present.unverifiable,
        runbookSeconds: Math.round(runbook.seconds),
      },
      timeline: service.timeline,
      mints: service.mints,
      faults: findFaults(service, { beforeLoss, pendingFaults, runbook, present }),
    }
  })
