import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startChain } from '@pohf/chain'
import { Client } from 'pg'
import { startCluster } from '../../packages/server/dev/cluster.ts'
import {
  startChainProxy,
  type CallOutcome,
} from '../../packages/server/test/fixtures/payments/chain-proxy.ts'
import { waitUntilReady } from '../../packages/server/test/fixtures/processes/restarts.ts'
import {
  cancelAuthorization,
  makeWallets,
  submitAsThirdParty,
  type SignedPayment,
} from './purchase-wallets.ts'
import { prepareServer, randomFrom, startRole } from './server-processes.ts'

export type PurchaseKillOptions = {
  readonly purchases: number
  readonly clients: number
  readonly seed: number
  /** What may happen; default: everything, each at least once. */
  readonly scenarios?: readonly Scenario[]
  /** A statement before the load: to see that a planted fault is found. */
  readonly plantedFaultSql?: string
}
export type PurchaseFindings = {
  readonly seed: number
  readonly seconds: number
  readonly kills: number
  /** Purchases that were answered 200. */
  readonly acknowledged: number
  /** Answered 200, and not stored as it was. */
  readonly lost: number
  readonly doubleCharged: number
  /** Charged, and the payer was given no credential. */
  readonly missingCredential: number
  /** Given a credential, and not charged. */
  readonly credentialWithoutPayment: number
  /** Deliveries without their event. */
  readonly undelivered: number
  readonly duplicates: number
  /** Calls without an answer, or with 202 or 503: repeated until there was one. */
  readonly unknownOutcomes: number
  /** Buyers who had no answer for two minutes, and came back when nothing was killed any more. */
  readonly gaveUp: number
  /** Payments that ended as void, as they should. */
  readonly void: number
  readonly byScenario: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

/**
 * What happens to a purchase. The api is killed at six moments: before the chain is asked, after it, with everything written
 * and nothing sent, sent and no answer, with the answer in hand, and while it delivers.
 */
const scenarios = [
  'plain',
  'killed before the check',
  'killed after the check',
  'killed before sending',
  'killed after sending',
  'killed with the receipt',
  'killed while delivering',
  'receipt lost',
  'never sent',
  'node away',
  'sent by a stranger',
  'cancelled',
] as const
type Scenario = (typeof scenarios)[number]
/** A start of the api takes seconds, so kills are rarer than the rest: about one of six purchases. */
const weightedScenarios: readonly Scenario[] = [
  ...Array.from({ length: 12 }, (): Scenario => 'plain'),
  ...scenarios.filter((name) => name.startsWith('killed')),
  ...Array.from({ length: 4 }, () =>
    scenarios.filter((name) => !name.startsWith('killed') && name !== 'plain'),
  ).flat(),
]

type Chain = NonNullable<Awaited<ReturnType<typeof startChain>>>
type PurchasePlan = {
  readonly scenario: Scenario
  readonly payment: SignedPayment
  interruptionsLeft: number
}

/** A call over a connection that was closed is made once more at once, so what shall be in doubt is struck twice. */
const interruptionsFor = (scenario: Scenario): number =>
  scenario === 'receipt lost' || scenario === 'never sent' ? 2 : 1

/** Interrupts a purchase as its scenario says, at the call to the node that carries its authorization. */
const makeFaultRule = (
  chain: Chain,
  plans: ReadonlyMap<string, PurchasePlan>,
  kill: () => void,
): ((method: string, body: string) => Promise<CallOutcome>) => {
  const killLater = (ms: number) => void setTimeout(ms).then(kill)
  const onCheck = (plan: PurchasePlan): CallOutcome => {
    if (plan.scenario === 'killed before the check') return (kill(), 'drop')
    if (plan.scenario === 'killed after the check') killLater(3)
    return plan.scenario === 'node away' ? 'drop' : 'pass'
  }
  const onSend = async (plan: PurchasePlan): Promise<CallOutcome> => {
    if (plan.scenario === 'killed before sending') return (kill(), 'drop')
    if (plan.scenario === 'killed after sending') return (killLater(1), 'lose')
    if (plan.scenario === 'killed with the receipt') killLater(1)
    if (plan.scenario === 'killed while delivering') killLater(12)
    if (plan.scenario === 'receipt lost') return 'lose later'
    if (plan.scenario === 'never sent') return 'drop'
    if (plan.scenario === 'sent by a stranger') await submitAsThirdParty(chain, plan.payment)
    if (plan.scenario === 'cancelled') await cancelAuthorization(chain, plan.payment)
    return 'pass'
  }
  const early: readonly Scenario[] = ['killed before the check', 'killed after the check', 'node away']
  return async (method, body) => {
    const isSend = method.startsWith('eth_sendRaw')
    if (!isSend && method !== 'eth_call') return 'pass'
    const [plan] = [...plans].flatMap(([nonce, each]) => (body.includes(nonce) ? [each] : []))
    if (!plan || plan.interruptionsLeft === 0 || isSend === early.includes(plan.scenario)) return 'pass'
    plan.interruptionsLeft--
    return isSend ? onSend(plan) : onCheck(plan)
  }
}

type Outcome = {
  readonly plan: PurchasePlan
  readonly status: number
  readonly text: string
  readonly tries: number
}
/** A client may wait as long as a lease and a few looks take, on a busy machine. */
const clientTimeoutMs = 120_000

/** Whether an answer says how a purchase ended. */
const isFinalStatus = (status: number): boolean => ![0, 202, 429, 500, 503].includes(status)

/** Asks until there is an end: delivered, or refused for good. Anything else is asked again, with the same payment. */
const payUntilFinal = async (url: string, plan: PurchasePlan): Promise<Outcome> => {
  const deadline = performance.now() + clientTimeoutMs
  for (let tries = 1; ; tries++) {
    const answer = await fetch(url, {
      headers: { 'payment-signature': plan.payment.header },
      signal: AbortSignal.timeout(20_000),
    })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => undefined)
    if (answer && isFinalStatus(answer.status)) return { plan, ...answer, tries }
    if (performance.now() > deadline)
      return { plan, status: answer?.status ?? 0, text: answer?.text ?? '', tries }
    await setTimeout(200)
  }
}

/** Counts both sides: what the chain says was paid, and what buyers and the database hold. */
const countPaymentsAndDeliveries = async (database: Client, chain: Chain, outcomes: readonly Outcome[]) => {
  const { rows } = await database.query<{
    purchase_id: string
    state: string
    response: string | null
    nonce: string
    events: number
  }>(
    `select p.purchase_id, p.state, p.response, x.nonce,
       (select count(*)::int from events e where e.type = 'purchase.settled' and e.data->>'purchaseId' = p.purchase_id) as events
     from purchases p join x402_payments x on x.reference = p.purchase_id`,
  )
  const stored = new Map(rows.map((row) => [row.nonce, row]))
  const logs = (await chain.rpc('eth_getLogs', [
    { address: chain.token, fromBlock: '0x0', toBlock: 'latest', topics: [authorizationUsedTopic] },
  ])) as { topics: string[] }[]
  const used = new Map<string, number>()
  for (const { topics } of logs) used.set(topics[2] ?? '', (used.get(topics[2] ?? '') ?? 0) + 1)
  const faults: string[] = []
  const found = { lost: 0, doubleCharged: 0, missingCredential: 0, credentialWithoutPayment: 0 }
  const note = (kind: keyof typeof found, { plan, status, text }: Outcome) => {
    found[kind]++
    faults.push(`${kind}: ${plan.scenario}, ${plan.payment.nonce}, answered ${status} ${text.slice(0, 120)}`)
  }
  for (const outcome of outcomes) {
    const { nonce } = outcome.plan.payment
    const charged = used.get(nonce) ?? 0
    const row = stored.get(nonce)
    if (charged > 1) note('doubleCharged', outcome)
    if (charged > 0 && outcome.status !== 200) note('missingCredential', outcome)
    if (charged === 0 && (outcome.status === 200 || row?.state === 'delivered'))
      note('credentialWithoutPayment', outcome)
    if (outcome.status === 200 && row?.response !== outcome.text) note('lost', outcome)
  }
  const { rows: twice } = await database.query(
    "select reference from credential_claims where act = 'purchase' group by reference having count(*) > 1",
  )
  const { rows: minted } = await database.query<{ n: number }>(
    "select count(*)::int as n from credentials where kind = 'purchase'",
  )
  const delivered = rows.filter(({ state }) => state === 'delivered')
  if (minted[0]?.n !== delivered.length)
    faults.push(`${minted[0]?.n} credentials were minted for ${delivered.length} deliveries`)
  return {
    ...found,
    doubleCharged: found.doubleCharged + twice.length,
    undelivered: delivered.filter(({ events }) => events === 0).length,
    duplicates: delivered.filter(({ events }) => events > 1).length,
    void: rows.filter(({ state }) => state === 'void').length,
    faults,
  }
}
/** AuthorizationUsed(address,bytes32). */
const authorizationUsedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'

const openProcesses = async (chain: Chain, rpcUrl: string, plantedFaultSql: string | undefined) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-purchases-'))
  const cluster = await startCluster({ folder })
  const keys = join(folder, 'gas.keys')
  writeFileSync(keys, chain.gasAccounts.map(({ privateKey }) => privateKey).join('\n'), { mode: 0o600 })
  const { baseUrl, databaseUrl, env } = await prepareServer(cluster, folder, {
    LOG_LEVEL: 'silent',
    X402_CHAIN_RPC: rpcUrl,
    X402_PAY_TO: chain.payTo.address,
    X402_GAS_KEYS_FILE: keys,
  })
  const database = new Client({ connectionString: databaseUrl })
  await database.connect()
  if (plantedFaultSql !== undefined) await database.query(plantedFaultSql)
  const others = [startRole('signer', env), startRole('worker', env)]
  const api = startRole('api', env)
  await waitUntilReady(baseUrl)
  return {
    buyUrl: `${baseUrl}/api/agent/tasks/wf_test_ok/buy`,
    database,
    killApi: () => void api.kill(),
    stop: async () => {
      await Promise.all([api, ...others].map((each) => each.stop()))
      await database.end()
      await cluster.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Mines while the clients buy: a cancelled authorization is void only in a block that stays, on a chain that goes on. */
const startMining = (chain: Chain) => {
  const end = new AbortController()
  const mine = async () => {
    while (!end.signal.aborted) {
      await chain.rpc('anvil_mine', ['0x8'])
      await setTimeout(500)
    }
  }
  const mined = mine()
  return {
    stop: async () => {
      end.abort()
      await mined
    },
  }
}

type Wallets = Awaited<ReturnType<typeof makeWallets>>
type Buying = {
  readonly url: string
  readonly wallets: Wallets
  readonly plans: Map<string, PurchasePlan>
  readonly options: PurchaseKillOptions
}

/** Clients that buy one after another until all purchases have begun, each in a scenario that the seed draws. */
const buyAll = async ({ url, wallets, plans, options }: Buying): Promise<Outcome[]> => {
  const random = randomFrom(options.seed)
  const outcomes: Outcome[] = []
  let begun = 0
  const client = async () => {
    while (begun < options.purchases) {
      const index = begun++
      const from =
        options.scenarios ?? (index < scenarios.length ? [scenarios[index] ?? 'plain'] : weightedScenarios)
      const scenario = from[Math.floor(random() * from.length)] ?? 'plain'
      const payment = await wallets.sign(url, index)
      const plan: PurchasePlan = { scenario, payment, interruptionsLeft: interruptionsFor(scenario) }
      plans.set(payment.nonce.slice(2), plan)
      outcomes.push(await payUntilFinal(url, plan))
      plans.delete(payment.nonce.slice(2))
    }
  }
  await Promise.all(Array.from({ length: options.clients }, client))
  return outcomes
}

/** Pays again where a client timed out while the api was killed, as a buyer does who may have paid. */
const retryTimedOut = async (url: string, outcomes: Outcome[]): Promise<number> => {
  let gaveUp = 0
  for (const [index, outcome] of outcomes.entries())
    if (!isFinalStatus(outcome.status)) {
      const retried = await payUntilFinal(url, outcome.plan)
      outcomes[index] = { ...retried, tries: outcome.tries + retried.tries }
      gaveUp++
    }
  return gaveUp
}

/** Buys with a token that accepts every authorization and moves nothing, until the authorizations expire. */
const buyWithSilentToken = async (chain: Chain, { url, wallets }: Buying, count: number) => {
  await chain.putToken('silent')
  const pending = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const payment = await wallets.sign(url, index)
      const plan: PurchasePlan = { scenario: 'plain', payment, interruptionsLeft: 0 }
      const answer = await fetch(url, { headers: { 'payment-signature': payment.header } })
      return { plan, status: answer.status, text: await answer.text() }
    }),
  )
  await chain.rpc('evm_increaseTime', [400])
  return {
    outcomes: await Promise.all(pending.map(({ plan }) => payUntilFinal(url, plan))),
    faults: pending
      .filter(({ status }) => status !== 202)
      .map(({ text }) => `a silent token was answered ${text}`),
  }
}

/** Buys again and again while the api is killed and the chain misbehaves, then counts what was paid and what was given. */
export const runPurchaseKills = async (options: PurchaseKillOptions): Promise<PurchaseFindings> => {
  const { purchases, seed } = options
  const chain = await startChain()
  if (!chain)
    throw new Error(
      `no anvil package for ${process.platform}-${process.arch}: the purchase battery needs a chain`,
    )
  const node = await startChainProxy(chain.url)
  const server = await openProcesses(chain, node.url, options.plantedFaultSql)
  const startedAt = performance.now()
  let kills = 0
  const plans = new Map<string, PurchasePlan>()
  node.setFaultRule(
    makeFaultRule(chain, plans, () => {
      kills++
      server.killApi()
    }),
  )
  const buying = { url: server.buyUrl, wallets: await makeWallets(chain, 24), plans, options }
  try {
    const mining = startMining(chain)
    const outcomes = await buyAll(buying)
    const gaveUp = await retryTimedOut(server.buyUrl, outcomes)
    const silentCount = options.scenarios ? 0 : Math.max(2, Math.floor(purchases / 50))
    const silent = await buyWithSilentToken(chain, buying, silentCount)
    await mining.stop()
    const all = [...outcomes, ...silent.outcomes]
    const counted = await countPaymentsAndDeliveries(server.database, chain, all)
    const neverEnded = all
      .filter(({ status }) => ![200, 402].includes(status))
      .map(({ plan, status }) => `${plan.scenario} never ended: ${status}`)
    return {
      seed,
      seconds: Math.round((performance.now() - startedAt) / 1_000),
      kills,
      acknowledged: all.filter(({ status }) => status === 200).length,
      ...counted,
      gaveUp,
      unknownOutcomes: all.reduce((sum, { tries }) => sum + tries - 1, 0),
      byScenario: Object.fromEntries(
        scenarios.map((name) => [name, outcomes.filter(({ plan }) => plan.scenario === name).length]),
      ),
      faults: [...counted.faults, ...silent.faults, ...neverEnded],
    }
  } finally {
    await server.stop()
    await node.stop()
    await chain.stop()
  }
}

export const hasNoFaults = (findings: PurchaseFindings): boolean =>
  findings.faults.length === 0 &&
  findings.lost + findings.doubleCharged + findings.missingCredential + findings.credentialWithoutPayment ===
    0 &&
  findings.undelivered === 0
