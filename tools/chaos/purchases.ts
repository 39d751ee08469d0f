import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startChain } from '@pohf/chain'
import { Client } from 'pg'
import {
  startChainProxy,
  type CallOutcome,
} from '../../packages/server/test/fixtures/payments/chain-proxy.ts'
import { switchWallet } from '../../packages/server/test/fixtures/payments/contract-wallets.ts'
import {
  countGas,
  countPaymentsAndDeliveries,
  isContractScenario,
  scenarios,
  type Chain,
  type Outcome,
  type PurchasePlan,
  type Scenario,
} from './purchase-count.ts'
import { cancelAuthorization, makeWallets, submitAsThirdParty, validSeconds } from './purchase-wallets.ts'
import { closingAfter } from '../driver/closing.ts'
import { starting, step } from '../driver/program.ts'
import { randomFrom, sum } from '../driver/rounds.ts'
import { openService } from '../driver/service.ts'
import { faultsOfCounts } from './verify-load/audit.ts'

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
  /** Gas of all our transactions, of those that moved nothing, and of those that contract wallets made fail. */
  readonly gasUsed: number
  readonly gasLost: number
  readonly gasLostToContractWallets: number
  /** What contract wallets may cost in 24 hours. */
  readonly gasBudget: number
  /** Payments of contract wallets that were refused because the budget was used up. */
  readonly refusedForBudget: number
  readonly byScenario: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

/** A start of the api takes seconds, so kills are rarer than the rest: about one of six purchases. */
const weightedScenarios: readonly Scenario[] = [
  ...Array.from({ length: 12 }, (): Scenario => 'plain'),
  ...scenarios.filter((name) => name.startsWith('killed')),
  ...scenarios.filter(isContractScenario),
  ...Array.from({ length: 4 }, () =>
    scenarios.filter((name) => !name.startsWith('killed') && name !== 'plain' && !isContractScenario(name)),
  ).flat(),
]
/** Enough for about six failed payments. A long run uses it up, and ordinary wallets must go on. */
const gasBudget = 500_000

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
    const wallet = plan.payment.authorization.from
    if (plan.scenario === 'contract wallet changes to burning gas') await switchWallet(chain, wallet, 'burns')
    if (plan.scenario === 'contract wallet changes to reverting') await switchWallet(chain, wallet, 'reverts')
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

/** A client may wait as long as a lease and a few looks take, on a busy machine. */
const clientTimeoutMs = 120_000

const isPaused = (text: string): boolean => text.includes('"contract_wallets_paused"')
/** Whether an answer says how a purchase ended. */
const isFinal = ({ status, text }: Pick<Outcome, 'status' | 'text'>): boolean =>
  ![0, 202, 429, 500, 503].includes(status) || isPaused(text)
/** A failed payment of a contract wallet is pending until its authorization ends: the client comes back then. */
const isAnswered = (answer: Pick<Outcome, 'status' | 'text'>): boolean =>
  answer.status === 202 || isFinal(answer)

/** Asks until there is an end: delivered, or refused for good. Anything else is asked again, with the same payment. */
const payUntilFinal = async (url: string, plan: PurchasePlan, hasEnded = isFinal): Promise<Outcome> => {
  const deadline = performance.now() + clientTimeoutMs
  for (let tries = 1; ; tries++) {
    const answer = await fetch(url, {
      headers: { 'payment-signature': plan.payment.header },
      signal: AbortSignal.timeout(20_000),
    })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => undefined)
    if (answer && hasEnded(answer)) return { plan, ...answer, tries }
    if (performance.now() > deadline)
      return { plan, status: answer?.status ?? 0, text: answer?.text ?? '', tries }
    await setTimeout(200)
  }
}

/** The settings of a service that sells on this chain. */
const sellerSettings = (chain: Chain, rpcUrl: string, folder: string) => {
  const keys = join(folder, 'gas.keys')
  writeFileSync(keys, chain.gasAccounts.map(({ privateKey }) => privateKey).join('\n'), { mode: 0o600 })
  return {
    LOG_LEVEL: 'silent',
    X402_CHAIN_RPC: rpcUrl,
    X402_PAY_TO: chain.payTo.address,
    X402_GAS_KEYS_FILE: keys,
    X402_CONTRACT_GAS_PER_DAY: String(gasBudget),
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
type PurchaseLoad = {
  readonly url: string
  readonly wallets: Wallets
  readonly plans: Map<string, PurchasePlan>
  readonly options: PurchaseKillOptions
}

/** Clients that buy one after another until all purchases have begun, each in a scenario that the seed draws. */
const buyAll = async ({ url, wallets, plans, options }: PurchaseLoad): Promise<Outcome[]> => {
  const random = randomFrom(options.seed)
  const outcomes: Outcome[] = []
  let begun = 0
  const client = async () => {
    while (begun < options.purchases) {
      const index = begun++
      const from =
        options.scenarios ?? (index < scenarios.length ? [scenarios[index] ?? 'plain'] : weightedScenarios)
      const scenario = from[Math.floor(random() * from.length)] ?? 'plain'
      const payment = isContractScenario(scenario)
        ? await wallets.signAsContract(url, scenario)
        : await wallets.sign(url, index)
      const plan: PurchasePlan = { scenario, payment, interruptionsLeft: interruptionsFor(scenario) }
      plans.set(payment.nonce.slice(2), plan)
      outcomes.push(await payUntilFinal(url, plan, isContractScenario(scenario) ? isAnswered : isFinal))
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
    if (!isFinal(outcome) && !isContractScenario(outcome.plan.scenario)) {
      const retried = await payUntilFinal(url, outcome.plan)
      outcomes[index] = { ...retried, tries: outcome.tries + retried.tries }
      gaveUp++
    }
  return gaveUp
}

/** Asks for what became of the payments of contract wallets, once their authorizations have ended. */
const finishContractPurchases = async (url: string, outcomes: Outcome[]): Promise<void> => {
  for (const [index, outcome] of outcomes.entries())
    if (!isFinal(outcome) && isContractScenario(outcome.plan.scenario)) {
      const ended = await payUntilFinal(url, outcome.plan)
      outcomes[index] = { ...ended, tries: outcome.tries }
    }
}

/** Buys with a token that accepts every authorization and moves nothing, until the authorizations expire. */
const buyWithSilentToken = async (chain: Chain, { url, wallets }: PurchaseLoad, count: number) => {
  await chain.putToken('silent')
  const pending = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const payment = await wallets.sign(url, index)
      const plan: PurchasePlan = { scenario: 'plain', payment, interruptionsLeft: 0 }
      const answer = await fetch(url, { headers: { 'payment-signature': payment.header } })
      return { plan, status: answer.status, text: await answer.text() }
    }),
  )
  await chain.rpc('evm_increaseTime', [validSeconds + 60])
  return {
    outcomes: await Promise.all(pending.map(({ plan }) => payUntilFinal(url, plan))),
    faults: pending
      .filter(({ status }) => status !== 202)
      .map(({ text }) => `a silent token was answered ${text}`),
  }
}

/** Purchases without an end, and gas beyond the budget. */
const listOtherFaults = (outcomes: readonly Outcome[], gasLost: number): string[] => [
  ...outcomes
    .filter(({ status, text }) => ![200, 402].includes(status) && !isPaused(text))
    .map(({ plan, status }) => `${plan.scenario} never ended: ${status}`),
  ...(gasLost > gasBudget ? [`contract wallets cost ${gasLost} gas, more than ${gasBudget}`] : []),
]

/** Buys again and again while the api is killed and the chain misbehaves, then counts what was paid and what was given. */
export const runPurchaseKills = (options: PurchaseKillOptions): Promise<PurchaseFindings> =>
  closingAfter(async (defer) => {
    const { purchases, seed } = options
    starting('the chain')
    const chain = await startChain()
    if (!chain)
      throw new Error(
        `no anvil package for ${process.platform}-${process.arch}: the purchase battery needs a chain`,
      )
    defer(chain.stop)
    const node = await startChainProxy(chain.url)
    defer(node.stop)
    const { baseUrl, databaseUrl, processes, close } = await openService({
      name: 'purchases',
      roles: ['signer', 'worker', 'api'],
      settings: (folder) => sellerSettings(chain, node.url, folder),
    })
    defer(close)
    const database = new Client({ connectionString: databaseUrl })
    await database.connect()
    defer(() => database.end())
    if (options.plantedFaultSql !== undefined) await database.query(options.plantedFaultSql)
    const startedAt = performance.now()
    let kills = 0
    const plans = new Map<string, PurchasePlan>()
    node.setFaultRule(
      makeFaultRule(chain, plans, () => {
        kills++
        processes.api.kill()
      }),
    )
    const url = `${baseUrl}/api/agent/tasks/wf_test_ok/buy`
    const buying = { url, wallets: await makeWallets(chain, 24), plans, options }
    const mining = startMining(chain)
    defer(mining.stop)
    step(`buying ${purchases} times`)
    const outcomes = await buyAll(buying)
    step('paying again where a client gave up')
    const gaveUp = await retryTimedOut(url, outcomes)
    const silentCount = options.scenarios ? 0 : Math.max(2, Math.floor(purchases / 50))
    step('buying with a token that pays nothing')
    const silent = await buyWithSilentToken(chain, buying, silentCount)
    step('waiting for the end of payments of contract wallets')
    await finishContractPurchases(url, outcomes)
    await mining.stop()
    const all = [...outcomes, ...silent.outcomes]
    const counted = await countPaymentsAndDeliveries(database, chain, all)
    const gas = await countGas(database, chain)
    const otherFaults = listOtherFaults(all, gas.gasLostToContractWallets)
    return {
      seed,
      seconds: Math.round((performance.now() - startedAt) / 1_000),
      kills,
      acknowledged: all.filter(({ status }) => status === 200).length,
      ...counted,
      ...gas,
      gasBudget,
      refusedForBudget: all.filter(({ text }) => isPaused(text)).length,
      gaveUp,
      unknownOutcomes: sum(all.map(({ tries }) => tries - 1)),
      byScenario: Object.fromEntries(
        scenarios.map((name) => [name, outcomes.filter(({ plan }) => plan.scenario === name).length]),
      ),
      faults: [...counted.faults, ...silent.faults, ...otherFaults],
    }
  })

/** What was lost, charged twice, not given or not paid, and all else that does not add up. */
export const faultsOf = (findings: PurchaseFindings): readonly string[] => [
  ...faultsOfCounts(findings),
  ...(findings.credentialWithoutPayment > 0
    ? [`credentialWithoutPayment: ${findings.credentialWithoutPayment}`]
    : []),
  ...findings.faults,
]
