import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import type { Browser } from 'playwright-core'
import { startCheckoutSimulator } from '@pohf/checkout-simulator'
import { probeOutcomes } from '@pohf/protocol/probes'
import { readChunk } from '@pohf/protocol/telemetry'
import { launch } from '../../web/test/browser.ts'
import { startWorkerFixture } from '../../web/test/worker-fixture.ts'
import { platformAgentId } from '../../server/src/agents/index.ts'
import { inTransaction } from '../../server/src/platform/db/db.ts'
import { readRecords } from '../../server/src/sessions/index.ts'
import { ledgerFaults } from '../../server/test/fixtures/payments/ledger.ts'
import type { Harness } from '../../server/test/fixtures/harness.ts'
import { registerConfirmedAgent } from '../../server/test/fixtures/people/member.ts'
import { startReceiver } from '../../server/test/fixtures/webhook-receiver.ts'
import { subscribe } from '../../server/test/fixtures/webhooks.ts'

/** The price and the reward of a unit, from the workflow. */
export const workflow = { id: 'wf_photo_label', priceCents: 50, rewardStars: 25 }
export const quantity = 3

export const totalCents = quantity * workflow.priceCents

type Balances = {
  readonly escrow: number
  readonly revenue: number
  readonly backing: number
  readonly vesting: number
}
export const zeroBalances: Balances = { escrow: 0, revenue: 0, backing: 0, vesting: 0 }

type Account = Awaited<ReturnType<typeof registerConfirmedAgent>>
type Parts = {
  readonly t: TestContext
  readonly harness: Harness
  readonly url: string
  readonly browser: Browser
  readonly buyer: Account
  /** The agent that invites the members. */
  readonly home: Account
  readonly receiver: Awaited<ReturnType<typeof startReceiver>>
}

/** The whole service with a buyer, an inviting agent and a card provider, and the order that goes through it. */
export class OrderJourney {
  readonly parts: Parts
  readonly #startedAt = performance.now()
  orderId = ''
  constructor(parts: Parts) {
    this.parts = parts
  }

  log(text: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(0)
    this.parts.t.diagnostic(`${seconds} s: ${text}`)
  }
  /** Calls the API as the buyer. */
  async call(method: string, path: string, body?: unknown) {
    const answer = await this.parts.harness.call(method, `/api/agents/${path}`, {
      key: this.parts.buyer.apiKey,
      ...(body === undefined ? {} : { body }),
    })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  async #balance(agentId: string, like: string, unit: string): Promise<number> {
    const { rows } = await this.parts.harness.owner.query<{ sum: string | null }>(
      'select sum(balance) as sum from ledger_accounts where agent_id = $1 and account like $2 and unit = $3',
      [agentId, like, unit],
    )
    return Number(rows[0]?.sum ?? 0)
  }
  vestingStars(): Promise<number> {
    const agentId = platformAgentId(this.parts.harness.ctx.config, 'live')
    return this.#balance(agentId, 'vesting:%', 'star')
  }
  /** Where the money and the Stars are, with every ledger account added up. */
  async assertBalances(expected: Balances): Promise<void> {
    const { agentId } = this.parts.buyer
    assert.deepEqual(
      {
        escrow: await this.#balance(agentId, `escrow:${this.orderId}`, 'usd_cent'),
        revenue: await this.#balance(agentId, 'revenue:work', 'usd_cent'),
        backing: await this.#balance(agentId, 'backing:stars', 'usd_cent'),
        vesting: await this.vestingStars(),
      },
      expected,
    )
    assert.deepEqual(await ledgerFaults(this.parts.harness), [])
  }
}

export const startJourney = async (t: TestContext, chromiumPath: string): Promise<OrderJourney> => {
  const { harness, url } = await startWorkerFixture(async (address) => {
    const simulator = await startCheckoutSimulator({ webhookUrl: `${address}/api/payments/card/webhook` })
    after(() => simulator.stop())
    // Reviews of new buyers have tests of their own.
    return { ...simulator.settings, ORDER_REVIEWS: '0' }
  })
  const browser = await launch(chromiumPath)
  after(() => browser.close())
  const buyer = await registerConfirmedAgent(harness, 'live', 'buyer@example.com')
  const home = await registerConfirmedAgent(harness, 'live', 'home@example.com')
  const receiver = await startReceiver()
  await subscribe(harness, buyer, receiver.url)
  return new OrderJourney({ t, harness, url, browser, buyer, home, receiver })
}

/** How each question of the last session was answered, and after how long. */
export const lastOutcomes = async (harness: Harness): Promise<string> => {
  const { rows } = await harness.owner.query<{ agent_id: `agt_${string}`; session_id: string }>(
    'select agent_id, session_id from session_recorders order by at desc limit 1',
  )
  assert.ok(rows[0])
  const { agent_id: agentId, session_id: sessionId } = rows[0]
  const opened = await inTransaction(harness.ctx, agentId, (tx) =>
    readRecords(tx, harness.ctx, { agentId, mode: 'live', sessionId }),
  )
  const records = (opened?.records ?? []).flatMap(({ chunk: text, receivedAt, after: receipt }) => {
    const chunk = readChunk(text)
    return chunk ? [{ chunk, receivedAt, after: receipt }] : []
  })
  return probeOutcomes(records)
    .map(({ result, reactionMs }) => (reactionMs === null ? result : `${result} after ${reactionMs} ms`))
    .join(', ')
}
