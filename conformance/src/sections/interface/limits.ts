import { at, expectEqual, expectThat, filledListAt } from '../../expect.ts'
import { mintMember, mintSession, readBalance, registerAgent, testAgent } from '../../fixtures.ts'
import { expectStatus } from '../../http.ts'
import type { Section, Statement } from '../../statement.ts'
import { freePlan } from './discovery.ts'
import { attestNonceUniqueness, photoUniqueness } from '../services/evidence.ts'

const balance = 'GET /api/agents/credits/balance'
const buy = 'POST /api/agents/credits/buy'
const verify = 'POST /api/agents/verify'
const personhood = 'POST /api/agents/verify-personhood'
const register = 'POST /api/agents/register'

/** Enough to show that no small quota stands in the way; none can show "without limit". */
const manyVerifications = 25

const catalogue = (pack: string, credits: number, priceUsd: number): Statement => ({
  id: `limits.pack-${pack}`,
  title: `the ${pack} pack is ${credits} credits for ${priceUsd} USD`,
  needs: [balance],
  isProjectDecision: true,
  run: async (world) => {
    const answer = await world.http.get('/api/agents/credits/balance', {
      key: (await testAgent(world)).apiKey,
    })
    const packs = filledListAt(answer.body, 'packs')
    const found = packs.find((candidate) => at(candidate, 'pack') === pack)
    expectThat(found !== undefined, `the pack ${pack}`, packs)
    expectEqual(at(found, 'credits'), credits, 'credits')
    expectEqual(at(found, 'priceUsd'), priceUsd, 'priceUsd')
  },
})

const posts = (pack: string, credits: number): Statement => ({
  id: `limits.pack-${pack}-posts`,
  title: `buying the ${pack} pack is worth ${credits} credits`,
  needs: [buy, balance],
  isProjectDecision: true,
  run: async (world) => {
    const agent = await testAgent(world)
    const before = await readBalance(world, agent)
    expectStatus(await world.http.post('/api/agents/credits/buy', { pack }, { key: agent.apiKey }), 200)
    const after = await readBalance(world, agent)
    expectEqual(after.lifetimePurchased - before.lifetimePurchased, credits, 'credits more:')
  },
})

export const limits: Section = {
  name: 'Limits',
  statements: [
    {
      id: 'limits.verify-costs-one',
      title: 'verifying a session uses exactly one credit',
      needs: [verify, balance],
      run: async (world) => {
        const agent = await testAgent(world)
        const before = await readBalance(world, agent)
        await mintSession(world, agent)
        const after = await readBalance(world, agent)
        expectEqual(after.lifetimeConsumed - before.lifetimeConsumed, 1, 'credits used:')
      },
    },
    {
      id: 'limits.personhood-costs-one',
      title: 'verifying a person uses exactly one credit',
      needs: [personhood, balance],
      run: async (world) => {
        const agent = await testAgent(world)
        const before = await readBalance(world, agent)
        await mintMember(world, agent)
        const after = await readBalance(world, agent)
        expectEqual(after.lifetimeConsumed - before.lifetimeConsumed, 1, 'credits used:')
      },
    },
    catalogue('starter', 100, 49),
    catalogue('growth', 1_000, 299),
    catalogue('scale', 10_000, 1_999),
    posts('starter', 100),
    posts('growth', 1_000),
    posts('scale', 10_000),
    {
      id: 'limits.test-keys-unlimited',
      title: `a test key that bought nothing verifies ${manyVerifications} sessions in a row`,
      needs: [register, verify],
      run: async (world) => {
        const agent = await registerAgent(world, 'test')
        for (let count = 0; count < manyVerifications; count += 1) {
          expectStatus((await mintSession(world, agent)).answer, 200)
        }
      },
    },
    freePlan,
    ...photoUniqueness,
    ...attestNonceUniqueness,
  ],
}
