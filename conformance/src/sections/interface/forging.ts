import { compactVerify, createLocalJWKSet } from 'jose'
import { at, expectEqual, expectThat, Failure, filledListAt, numberAt, textAt } from '../../expect.ts'
import { keySet, testAgent, uniqueText } from '../../fixtures.ts'
import { expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import type { Section } from '../../statement.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'

const forging = 'GET /.well-known/pohf-forging.json'
const jwks = 'GET /.well-known/jwks.json'
const verify = 'POST /api/agents/verify'
const personhood = 'POST /api/agents/verify-personhood'
const answered = oncePerRun((world) => world.http.get('/.well-known/pohf-forging.json'))

const openTable = async (world: RunContext): Promise<{ typ: unknown; kid: unknown; payload: unknown }> => {
  const { body } = await answered(world)
  const table = textAt(body, 'table')
  try {
    const { payload, protectedHeader } = await compactVerify(table, createLocalJWKSet(await keySet(world)))
    const { typ, kid } = protectedHeader
    return { typ, kid, payload: JSON.parse(new TextDecoder().decode(payload)) }
  } catch (error) {
    throw new Failure('a table that verifies against the JWKS', error instanceof Error ? error.message : body)
  }
}

const classOf = (cost: number): string => `F${[1, 10, 100, 1_000].filter((bound) => cost >= bound).length}`

/** Acts at the ceiling, at 10 and at 1 a day for each human; and people. */
const goods = ['actsB', 'acts10', 'acts1', 'humans']
const expectPrice = (price: unknown): void => {
  if (price === 'named') return
  const usd = numberAt(price, 'usd')
  expectThat(usd === 0 || /^1e[+-]\d+$/.test(usd.toExponential()), 'a power of ten', usd)
  expectEqual(at(price, 'class'), classOf(usd), 'class')
}

const expectBelowFloor = (answer: HttpResponse, code: string): void => {
  expectRefusal(answer, 409, code)
  const [detail] = filledListAt(answer.body, 'details')
  expectEqual(at(detail, 'code'), 'below_policy', 'code of the detail')
  expectThat(Array.isArray(at(detail, 'stepUp')), 'the ways to step up', detail)
}

export const forgingPrices: Section = {
  name: 'Prices of forgeries',
  statements: [
    {
      id: 'forging.signed',
      title: 'the price table verifies against the public keys, under a key and a type of its own',
      needs: [forging, jwks],
      isProjectDecision: true,
      run: async (world) => {
        expectStatus(await answered(world), 200)
        const { typ, kid, payload } = await openTable(world)
        expectEqual(typ, 'pohf-forging+jwt', 'typ')
        const key = (await keySet(world)).keys.find((each) => each.kid === kid)
        expectEqual(at(key, 'pohf_purpose'), 'forging', 'purpose of the key')
        expectEqual(numberAt(payload, 'exp') - numberAt(payload, 'iat'), 90 * 86_400, 'seconds of validity:')
      },
    },
    {
      id: 'forging.entries',
      title:
        'the table has version 2, and each of its prices, for acts and for people, is a power of ten with its class or named',
      needs: [forging, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const { payload } = await openTable(world)
        expectEqual(numberAt(payload, 'version'), 2, 'version')
        for (const entry of filledListAt(payload, 'entries')) {
          textAt(entry, 'kind')
          textAt(entry, 'root')
          for (const good of goods) expectPrice(at(entry, good))
        }
        filledListAt(payload, 'inputs.families')
      },
    },
    {
      id: 'forging.ways',
      title: 'every root of the table says how it is bought or hired, or has no market',
      needs: [forging, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const { payload } = await openTable(world)
        const roots = at(payload, 'inputs.roots')
        expectThat(typeof roots === 'object' && roots !== null, 'an object of roots', roots)
        for (const root of Object.values(roots ?? {})) {
          const ways = at(root, 'ways')
          expectThat(Array.isArray(ways), 'a list of ways', ways)
          for (const way of Array.isArray(ways) ? ways : []) {
            expectThat(['buy', 'hire'].includes(textAt(way, 'by')), 'buy or hire', way)
            expectThat(numberAt(way, 'usd') >= 0, 'a price that is not below zero', way)
            expectThat(numberAt(way, 'subjects') > 0, 'at least one subject', way)
            expectThat(numberAt(way, 'lifeDays') > 0, 'a life of some days', way)
          }
        }
      },
    },
    {
      id: 'forging.cacheable',
      title: 'a page of any origin can read the table, and ask for it again by its tag',
      needs: [forging],
      isProjectDecision: true,
      run: async (world) => {
        const { headers } = await answered(world)
        expectEqual(headers.get('access-control-allow-origin'), '*', 'allowed origin')
        expectThat(/^".+"$/.test(headers.get('etag') ?? ''), 'a strong ETag', headers.get('etag'))
      },
    },
    {
      id: 'forging.verify-floor',
      title: 'a session that would not reach the floor of the call is refused, with the ways to step up',
      needs: [verify],
      isProjectDecision: true,
      run: async (world) => {
        const body = { sessionId: uniqueText('session'), minAssurance: 'high' }
        const { apiKey } = await testAgent(world)
        expectBelowFloor(
          await world.http.post('/api/agents/verify', body, { key: apiKey }),
          'session_rejected',
        )
      },
    },
    {
      id: 'forging.human-floor',
      title:
        'a session without a root that counts humans is refused where the call asks for a price of distinct ones',
      needs: [verify],
      isProjectDecision: true,
      run: async (world) => {
        const body = { sessionId: uniqueText('session'), minForgingHuman: 'F0' }
        const { apiKey } = await testAgent(world)
        expectBelowFloor(
          await world.http.post('/api/agents/verify', body, { key: apiKey }),
          'session_rejected',
        )
      },
    },
    {
      id: 'forging.personhood-floor',
      title: 'a member who would not reach the floor of the call is refused, with the ways to step up',
      needs: [personhood],
      isProjectDecision: true,
      run: async (world) => {
        const body = { memberId: uniqueText('member'), minForging: 'F4' }
        const { apiKey } = await testAgent(world)
        const answer = await world.http.post('/api/agents/verify-personhood', body, { key: apiKey })
        expectBelowFloor(answer, 'below_policy')
      },
    },
  ],
}
