import { after } from 'node:test'
import { startStandIn, type State } from '@pohf/checkout-stand-in'
import { freePort } from '../dev/cluster.ts'
import { startHarness } from './harness.ts'
import { until } from './waiting.ts'

/** The whole server on a port, with the stand-in of the card provider as a process beside it. */
export const startCardHarness = async (environment: Record<string, string> = {}) => {
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`
  const standIn = await startStandIn({ webhookUrl: `${baseUrl}/api/payments/card/webhook` })
  after(() => standIn.stop())
  const harness = await startHarness({
    PORT: String(port),
    BASE_URL: baseUrl,
    ...standIn.settings,
    ...environment,
  })
  await harness.app.api.listen({ host: '127.0.0.1', port })

  let made = 0
  const state = () => standIn.control<State>('state')
  const card = {
    harness,
    standIn,
    baseUrl,
    state,
    liveAgent: () => harness.register('live', `dev@card-${made++}.example`),
    buy: (agent: { apiKey: string }, pack = 'starter', headers: Record<string, string> = {}) =>
      harness.call('POST', '/api/agents/credits/buy', { key: agent.apiKey, body: { pack }, headers }),
    /** Opens a checkout and says by which names both sides know it. */
    open: async (agent: { apiKey: string }, pack = 'starter') => {
      const { status, json, text } = await card.buy(agent, pack)
      if (status !== 200) throw new Error(text)
      const sessionId = new URL(json.checkoutUrl).pathname.split('/').at(-1) ?? ''
      const session = (await state()).sessions.find(({ id }) => id === sessionId)
      return {
        sessionId,
        checkoutId: session?.clientReferenceId ?? '',
        checkoutUrl: String(json.checkoutUrl),
      }
    },
    /** Pays by the stand-in's control and gives the payment's name. */
    pay: async (sessionId: string) =>
      (await standIn.control<{ payment: string }>(`sessions/${sessionId}/pay`)).payment,
    balance: async (agent: { apiKey: string }) => {
      const { json } = await harness.call('GET', '/api/agents/credits/balance', { key: agent.apiKey })
      return json as { balance: number; lifetimePurchased: number }
    },
    checkoutOf: async (checkoutId: string) => {
      const { rows } = await harness.owner.query(
        'select state, taken_usd_cents::int as taken, taken_revision as revision from checkouts where checkout_id = $1',
        [checkoutId],
      )
      return rows[0] as { state: string; taken: number; revision: number }
    },
    owed: async (agentId: string) => {
      const { rows } = await harness.owner.query(
        "select -balance::int as owed from ledger_accounts where agent_id = $1 and account = 'owed:credits'",
        [agentId],
      )
      return Number(rows[0]?.owed ?? 0)
    },
    /** Waits until the checkout is in this state. */
    reaches: (checkoutId: string, wanted: string) =>
      until(`${checkoutId} ${wanted}`, async () => (await card.checkoutOf(checkoutId)).state === wanted),
    /** Every message of a session or payment that the stand-in holds back, by type. */
    held: async (types: readonly string[]): Promise<string[]> => {
      const { events } = await state()
      return types.map((type) => events.findLast((event) => event.type === type)?.id ?? '')
    },
    deliver: async (
      events: readonly string[],
      how: { together?: boolean; signed?: 'wrong' } = {},
    ): Promise<number[]> =>
      (await standIn.control<{ statuses: number[] }>('deliver', { events, ...how })).statuses,
    eventsOf: async (agentId: string, like = 'credits.%') => {
      const { rows } = await harness.owner.query(
        'select type, data from events where agent_id = $1 and type like $2 order by event_id',
        [agentId, like],
      )
      return rows as { type: string; data: Record<string, unknown> }[]
    },
  }
  return card
}
