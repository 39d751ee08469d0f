import { at, expectEqual, expectThat, numberAt, textAt } from '../../expect.ts'
import { uniqueText, liveAgent, testAgent } from '../../fixtures.ts'
import { expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import { refusesInput, type Section } from '../../statement.ts'
import type { RunContext } from '../../run-context.ts'

const convert = 'POST /api/partner/points/convert'
const payout = 'POST /api/partner/payout/request'

const convertPoints = async (
  world: RunContext,
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpResponse> =>
  world.http.post('/api/partner/points/convert', body, { key: (await testAgent(world)).apiKey, headers })

/** The time so many days from now. */
const day = (offset: number): string => new Date(Date.now() + offset * 86_400_000).toISOString()

const requestPayout = async (
  world: RunContext,
  body: Readonly<Record<string, unknown>>,
): Promise<HttpResponse> =>
  world.http.post('/api/partner/payout/request', body, { key: (await testAgent(world)).apiKey })

export const pointsConversion: Section = {
  name: 'POST /api/partner/points/convert',
  statements: [
    {
      id: 'convert.balance',
      title: 'converting points answers the new balance',
      needs: [convert],
      run: async (world) => {
        const answer = await convertPoints(world, { userRef: uniqueText('user'), points: 10 })
        expectStatus(answer, 200)
        numberAt(answer.body, 'balance')
      },
    },
    {
      id: 'convert.repeat',
      title: 'sending the same conversion twice converts once',
      needs: [convert],
      run: async (world) => {
        const body = { userRef: uniqueText('user'), points: 10 }
        const first = await convertPoints(world, body)
        const second = await convertPoints(world, body)
        expectStatus(second, 200)
        expectEqual(numberAt(second.body, 'balance'), numberAt(first.body, 'balance'), 'balance')
      },
    },
    {
      id: 'convert.repeat-said',
      title: 'a repeat is marked as one',
      needs: [convert],
      isProjectDecision: true,
      run: async (world) => {
        const body = { userRef: uniqueText('user'), points: 10 }
        expectStatus(await convertPoints(world, body), 200)
        expectEqual(at((await convertPoints(world, body)).body, 'deduplicated'), true, 'deduplicated')
      },
    },
    {
      id: 'convert.two-keys',
      title: 'the same points under two Idempotency-Keys are two conversions',
      needs: [convert],
      isProjectDecision: true,
      run: async (world) => {
        const body = { userRef: uniqueText('user'), points: 10 }
        const first = await convertPoints(world, body, { 'idempotency-key': uniqueText('one') })
        const second = await convertPoints(world, body, { 'idempotency-key': uniqueText('two') })
        expectEqual(
          numberAt(second.body, 'balance') - numberAt(first.body, 'balance'),
          numberAt(first.body, 'balance'),
          'the same step again:',
        )
      },
    },
    {
      id: 'convert.statement',
      title: 'the statement has each conversion once, with the total of its points and Stars',
      needs: [convert],
      isProjectDecision: true,
      run: async (world) => {
        const userRef = uniqueText('user')
        for (const points of [7, 7, 5])
          expectStatus(
            await convertPoints(world, { userRef, points, idempotencyKey: `${userRef} ${points}` }),
            200,
          )
        const answer = await world.http.get('/api/partner/statement', {
          key: (await testAgent(world)).apiKey,
          query: { since: day(-1), until: day(1) },
        })
        expectStatus(answer, 200)
        const lines = answer.text.split('\r\n').filter((line) => line.includes(userRef))
        expectEqual(lines.length, 2, 'lines of this user:')
      },
    },
    {
      id: 'convert.adds-up',
      title: 'different conversions of one user add up',
      needs: [convert],
      run: async (world) => {
        const userRef = uniqueText('user')
        const first = numberAt((await convertPoints(world, { userRef, points: 10 })).body, 'balance')
        const second = numberAt((await convertPoints(world, { userRef, points: 7 })).body, 'balance')
        expectThat(second > first, 'a larger balance', { first, second })
      },
    },
    {
      id: 'convert.rate',
      title: 'by default one point is one Star',
      needs: [convert],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await convertPoints(world, { userRef: uniqueText('user'), points: 10 })
        expectEqual(numberAt(body, 'balance'), 10, 'balance')
      },
    },
    {
      id: 'convert.users-apart',
      title: 'the balance is that of the user, not of all',
      needs: [convert],
      run: async (world) => {
        const one = await convertPoints(world, { userRef: uniqueText('user'), points: 10 })
        const two = await convertPoints(world, { userRef: uniqueText('user'), points: 10 })
        expectEqual(numberAt(two.body, 'balance'), numberAt(one.body, 'balance'), 'balance')
      },
    },
    refusesInput('convert.user-required', 'a conversion without a user is refused', convert, {
      field: 'userRef',
      body: { points: 10 },
    }),
    refusesInput('convert.points-required', 'a conversion without points is refused', convert, {
      field: 'points',
      body: { userRef: 'somebody' },
    }),
    refusesInput('convert.points-are-a-number', 'text does not pass for points', convert, {
      field: 'points',
      body: { userRef: 'somebody', points: '10' },
    }),
    refusesInput('convert.at-least-one-star', 'points that make less than one Star are refused', convert, {
      field: 'points',
      body: { userRef: 'somebody', points: 0.5 },
    }),
    {
      id: 'convert.live-needs-confirmation',
      title: 'a live agent that only registered converts no points',
      needs: [convert],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        const body = { userRef: uniqueText('user'), points: 1_000_000 }
        const answer = await world.http.post('/api/partner/points/convert', body, { key: apiKey })
        expectRefusal(answer, 403, 'email_not_confirmed')
      },
    },
    refusesInput('convert.points-not-negative', 'negative points are refused', convert, {
      field: 'points',
      body: { userRef: 'somebody', points: -1 },
    }),
  ],
}

export const payouts: Section = {
  name: 'POST /api/partner/payout/request',
  statements: [
    {
      id: 'payout.answers',
      title: 'a request is answered with its id and its status',
      needs: [payout],
      run: async (world) => {
        const answer = await requestPayout(world, { userRef: uniqueText('user'), stars: 5 })
        expectStatus(answer, 200)
        textAt(answer.body, 'requestId')
        textAt(answer.body, 'status')
      },
    },
    {
      id: 'payout.queued',
      title: 'a covered request waits for review and is not paid by itself',
      needs: [payout, convert],
      run: async (world) => {
        const userRef = uniqueText('user')
        expectStatus(await convertPoints(world, { userRef, points: 10 }), 200)
        const answer = await requestPayout(world, { userRef, stars: 5 })
        expectStatus(answer, 200)
        expectEqual(textAt(answer.body, 'status'), 'queued', 'status')
      },
    },
    {
      id: 'payout.sandbox',
      title: 'with a test key a request without balance is queued as a rehearsal',
      needs: [payout],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await requestPayout(world, { userRef: uniqueText('user'), stars: 5 })
        expectEqual(textAt(body, 'status'), 'queued', 'status')
      },
    },
    {
      id: 'payout.live-needs-balance',
      title: 'with a live key a request without balance is refused',
      needs: [payout],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        const body = { userRef: uniqueText('user'), stars: 5 }
        expectRefusal(
          await world.http.post('/api/partner/payout/request', body, { key: apiKey }),
          409,
          'insufficient_stars',
        )
      },
    },
    refusesInput('payout.user-required', 'a request without a user is refused', payout, {
      field: 'userRef',
      body: { stars: 5 },
    }),
    refusesInput('payout.stars-required', 'a request without an amount is refused', payout, {
      field: 'stars',
      body: { userRef: 'somebody' },
    }),
    refusesInput('payout.stars-are-a-number', 'text does not pass for an amount', payout, {
      field: 'stars',
      body: { userRef: 'somebody', stars: '5' },
    }),
  ],
}
