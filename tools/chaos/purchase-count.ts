import type { startChain } from '@pohf/chain'
import type { Client } from 'pg'
import { contractScenarios, type ContractScenario, type SignedPayment } from './purchase-wallets.ts'

/**
 * What happens to a purchase. The api is killed at six moments: before the chain is asked, after it, with everything written
 * and nothing sent, sent and no answer, with the answer in hand, and while it delivers.
 */
export const scenarios = [
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
  ...contractScenarios,
] as const
export type Scenario = (typeof scenarios)[number]
export const isContractScenario = (name: Scenario): name is ContractScenario =>
  contractScenarios.some((each) => each === name)

export type Chain = NonNullable<Awaited<ReturnType<typeof startChain>>>
export type PurchasePlan = {
  readonly scenario: Scenario
  readonly payment: SignedPayment
  interruptionsLeft: number
}

export type Outcome = {
  readonly plan: PurchasePlan
  readonly status: number
  readonly text: string
  readonly tries: number
}
/** Counts both sides: what the chain says was paid, and what buyers and the database hold. */
export const countPaymentsAndDeliveries = async (
  database: Client,
  chain: Chain,
  outcomes: readonly Outcome[],
) => {
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

/** Gas of our transactions, and what the contract wallets made us lose: transactions of theirs that moved nothing. */
export const countGas = async (database: Client, chain: Chain) => {
  const { rows } = await database.query<{ hash: string; is_contract: boolean; settled_by: string | null }>(
    `select g.hash, x.gas_limit is not null as is_contract, x.transaction_hash as settled_by
     from gas_transactions g join x402_payments x on x.reference = g.reference`,
  )
  const found = { gasUsed: 0, gasLost: 0, gasLostToContractWallets: 0 }
  for (const { hash, is_contract: isContract, settled_by: settledBy } of rows) {
    const receipt = (await chain.rpc('eth_getTransactionReceipt', [hash])) as { gasUsed: string } | null
    const gas = Number(receipt?.gasUsed ?? 0)
    found.gasUsed += gas
    if (settledBy === hash) continue
    found.gasLost += gas
    if (isContract) found.gasLostToContractWallets += gas
  }
  return found
}
