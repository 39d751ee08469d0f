import { at, countAt, expectEqual, expectThat, filledListAt, isRecord, webAddressAt } from '../../expect.ts'
import { liveAgent, readBalance, registerAgent, otherAgent, testAgent } from '../../fixtures.ts'
import { expectStatus, type HttpResponse } from '../../http.ts'
import { refusesInput, notObservable, type Section } from '../../statement.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'

const buy = 'POST /api/agents/credits/buy'
const balance = 'GET /api/agents/credits/balance'

const buyPack = async (world: RunContext, pack: string): Promise<HttpResponse> =>
  world.http.post('/api/agents/credits/buy', { pack }, { key: (await testAgent(world)).apiKey })

const livePurchase = oncePerRun(async (world) => {
  const agent = await registerAgent(world, 'live')
  const answer = await world.http.post('/api/agents/credits/buy', { pack: 'starter' }, { key: agent.apiKey })
  return { agent, answer }
})

const record = oncePerRun(async (world) =>
  world.http.get('/api/agents/credits/balance', { key: (await testAgent(world)).apiKey }),
)

const opensCheckout = (pack: string) => ({
  id: `credits.buy-${pack}`,
  title: `buying the ${pack} pack answers the address of a checkout`,
  needs: [buy] as const,
  run: async (world: RunContext) => {
    const answer = await buyPack(world, pack)
    expectStatus(answer, 200)
    webAddressAt(answer.body, 'checkoutUrl')
  },
})

export const credits: Section = {
  name: 'Credits',
  statements: [
    opensCheckout('starter'),
    opensCheckout('growth'),
    opensCheckout('scale'),
    {
      id: 'credits.buy-live',
      title: 'a live key is sent to a hosted card checkout',
      needs: [buy],
      run: async (world) => {
        const { answer } = await livePurchase(world)
        expectStatus(answer, 200)
        webAddressAt(answer.body, 'checkoutUrl')
      },
    },
    {
      id: 'credits.nothing-before-payment',
      title: 'opening a live checkout alone posts no credits',
      needs: [buy, balance],
      run: async (world) => {
        const { agent, answer } = await livePurchase(world)
        expectStatus(answer, 200)
        const { balance: credits, lifetimePurchased } = await readBalance(world, agent)
        expectEqual(credits, 0, 'balance')
        expectEqual(lifetimePurchased, 0, 'lifetimePurchased')
      },
    },
    {
      id: 'credits.test-skips-payment',
      title: 'a test key pays nothing: its pack is posted at once',
      needs: [buy, balance],
      isProjectDecision: true,
      run: async (world) => {
        const before = await readBalance(world, await testAgent(world))
        expectStatus(await buyPack(world, 'starter'), 200)
        const after = await readBalance(world, await testAgent(world))
        expectEqual(after.balance - before.balance, 100, 'credits more in balance:')
        expectEqual(
          after.lifetimePurchased - before.lifetimePurchased,
          100,
          'credits more in lifetimePurchased:',
        )
      },
    },
    refusesInput('credits.pack-required', 'a purchase without a pack is refused', buy, {
      field: 'pack',
      body: {},
    }),
    refusesInput('credits.pack-known', 'a pack that is not in the catalogue is refused', buy, {
      field: 'pack',
      body: { pack: 'gigantic' },
    }),
    notObservable(
      'credits.posted-after-payment',
      'the credits of a pack arrive once the card payment is complete',
      [buy, balance],
      'needs a person at the checkout',
    ),
    {
      id: 'credits.balance-whole-numbers',
      title: 'balance, lifetime bought and lifetime used are whole numbers',
      needs: [balance],
      run: async (world) => {
        const answer = await record(world)
        expectStatus(answer, 200)
        for (const name of ['balance', 'lifetimePurchased', 'lifetimeConsumed']) countAt(answer.body, name)
      },
    },
    {
      id: 'credits.balance-packs',
      title: 'the balance comes with a list of packs, each an object',
      needs: [balance],
      run: async (world) => {
        for (const pack of filledListAt((await record(world)).body, 'packs'))
          expectThat(isRecord(pack), 'an object', pack)
      },
    },
    {
      id: 'credits.fresh-agent-has-none',
      title: 'a live agent that never paid has bought, used and owns nothing',
      needs: [balance],
      run: async (world) => {
        const known = await readBalance(world, await liveAgent(world))
        expectEqual(known.balance, 0, 'balance')
        expectEqual(known.lifetimePurchased, 0, 'lifetimePurchased')
        expectEqual(known.lifetimeConsumed, 0, 'lifetimeConsumed')
      },
    },
    {
      id: 'credits.balance-is-private',
      title: "one agent's purchase does not show in another's balance",
      needs: [buy, balance],
      run: async (world) => {
        const before = await readBalance(world, await otherAgent(world))
        expectStatus(await buyPack(world, 'starter'), 200)
        const after = await readBalance(world, await otherAgent(world))
        expectEqual(after.lifetimePurchased, before.lifetimePurchased, 'lifetimePurchased')
      },
    },
    {
      id: 'credits.free-allowance',
      title: 'the balance also tells what is left of the free plan',
      needs: [balance],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await record(world)
        countAt(answer.body, 'freeRemaining')
        expectThat(
          typeof at(answer.body, 'freeResetsAt') === 'string',
          'freeResetsAt',
          at(answer.body, 'freeResetsAt'),
        )
      },
    },
  ],
}
