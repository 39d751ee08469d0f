import { decodeProtectedHeader } from 'jose'
import { at, booleanAt, expectEqual, expectThat, fractionAt, textAt } from '../../expect.ts'
import { bind, invent, liveAgent, readBalance, testAgent } from '../../fixtures.ts'
import { expectRefusal, expectStatus } from '../../http.ts'
import { refusesInput, type Section, type Statement } from '../../statement.ts'
import { once, type World } from '../../run-context.ts'

const bindTransaction = 'POST /api/agents/bind-transaction'
const balance = 'GET /api/agents/credits/balance'
const jwks = 'GET /.well-known/jwks.json'

const shared = once(async (world) => {
  const paymentRef = invent('payment')
  const minted = await bind(world, await testAgent(world), { paymentRef, memberId: invent('member') })
  return { paymentRef, minted }
})

const takesHuman = (field: string): Statement => ({
  id: `bind.human-${field}`,
  title: `the human can be named by ${field} alone`,
  needs: [bindTransaction],
  decided: true,
  run: async (world) => {
    const body = { paymentRef: invent('payment'), [field]: invent('human') }
    expectStatus((await bind(world, await testAgent(world), body)).answer, 200)
  },
})

const takesRail = (name: string, title: string, reference: () => string): Statement => ({
  id: `bind.rail-${name}`,
  title: `a payment on ${title} can be bound`,
  needs: [bindTransaction],
  run: async (world) => {
    const body = { paymentRef: reference(), memberId: invent('member') }
    const { answer, jwt } = await bind(world, await testAgent(world), body)
    expectStatus(answer, 200)
    expectEqual(decodeProtectedHeader(jwt).alg, 'ES256', 'alg')
  },
})

const hex = (): string => (invent('').replaceAll('-', '') + invent('').replaceAll('-', '')).slice(0, 64)
const token = (): string => invent('').replaceAll('-', '').slice(0, 24)

const namesRail = (rail: string, reference: () => string): Statement => ({
  id: `bind.names-rail-${rail}`,
  title: `a reference of rail ${rail} is known as one`,
  needs: [bindTransaction],
  decided: true,
  run: async (world) => {
    const paymentRef = reference()
    const { body } = await ask(world, { paymentRef, memberId: invent('member') })
    expectEqual(at(body, 'binding.rail'), rail, 'binding.rail')
    expectEqual(at(body, 'binding.paymentRef'), paymentRef, 'binding.paymentRef')
  },
})

const ask = async (world: World, body: Readonly<Record<string, unknown>>) =>
  world.http.post('/api/agents/bind-transaction', body, { key: (await testAgent(world)).apiKey })

export const transactionBinding: Section = {
  name: 'POST /api/agents/bind-transaction',
  statements: [
    {
      id: 'bind.mints',
      title: 'a human and a payment reference are bound into a signed credential',
      needs: [bindTransaction, jwks],
      run: async (world) => {
        const { minted } = await shared(world)
        expectStatus(minted.answer, 200)
        textAt(await minted.claims(), 'iss')
      },
    },
    {
      id: 'bind.fields',
      title: 'a binding is answered like any other credential',
      needs: [bindTransaction],
      decided: true,
      run: async (world) => {
        const { body } = (await shared(world)).minted.answer
        booleanAt(body, 'verified')
        fractionAt(body, 'quality')
        textAt(body, 'credentialId')
      },
    },
    {
      id: 'bind.names-payment',
      title: 'the credential names the payment that it binds',
      needs: [bindTransaction, jwks],
      decided: true,
      run: async (world) => {
        const { minted, paymentRef } = await shared(world)
        const claims = await minted.claims()
        expectEqual(claims['kind'], 'binding', 'kind')
        expectEqual(at(claims, 'binding.payment_ref'), paymentRef, 'binding.payment_ref')
        expectEqual(at(minted.answer.body, 'binding.paymentRef'), paymentRef, 'binding.paymentRef')
        textAt(minted.answer.body, 'binding.rail')
        expectEqual(at(minted.answer.body, 'binding.assurance'), 'test', 'binding.assurance')
      },
    },
    {
      id: 'bind.test-key-marker',
      title: 'what a test key binds is marked test: true',
      needs: [bindTransaction, jwks],
      run: async (world) => {
        const { minted } = await shared(world)
        expectEqual((await minted.claims())['test'], true, 'test')
      },
    },
    takesHuman('sessionId'),
    takesHuman('memberId'),
    takesHuman('workRef'),
    {
      id: 'bind.no-human',
      title: 'a payment without a human is refused',
      needs: [bindTransaction],
      run: async (world) => {
        const paymentRef = invent('payment')
        expectRefusal(await ask(world, { paymentRef }), 400)
        expectStatus(await ask(world, { paymentRef, memberId: invent('member') }), 200)
      },
    },
    {
      id: 'bind.no-payment',
      title: 'a human without a payment is refused',
      needs: [bindTransaction],
      run: async (world) => {
        const memberId = invent('member')
        expectRefusal(await ask(world, { memberId }), 400)
        expectStatus(await ask(world, { memberId, paymentRef: invent('payment') }), 200)
      },
    },
    {
      id: 'bind.anchor-codes',
      title: 'the refusal says which of the two is missing',
      needs: [bindTransaction],
      decided: true,
      run: async (world) => {
        const [paymentRef, memberId] = [invent('payment'), invent('member')]
        expectRefusal(await ask(world, { paymentRef }), 400, 'missing_human_anchor')
        expectRefusal(await ask(world, { memberId }), 400, 'missing_payment_anchor')
      },
    },
    {
      id: 'bind.rehearsal',
      title: 'with test: true a live key binds without any live payment, and the result is marked as a test',
      needs: [bindTransaction, jwks],
      run: async (world) => {
        const body = { memberId: invent('member'), test: true }
        const minted = await bind(world, await liveAgent(world), body)
        expectStatus(minted.answer, 200)
        expectEqual((await minted.claims())['test'], true, 'test')
      },
    },
    {
      id: 'bind.rehearsal-needs-human',
      title: 'test: true stands in for the payment, not for the human',
      needs: [bindTransaction],
      decided: true,
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        const answer = await world.http.post('/api/agents/bind-transaction', { test: true }, { key: apiKey })
        expectRefusal(answer, 400, 'missing_human_anchor')
      },
    },
    refusesInput(
      'bind.reference-is-text',
      'a number does not pass for a payment reference',
      bindTransaction,
      {
        field: 'paymentRef',
        body: { paymentRef: 5, memberId: 'somebody' },
      },
    ),
    refusesInput('bind.test-is-true-or-false', 'text does not pass for the test switch', bindTransaction, {
      field: 'test',
      body: { test: 'true', memberId: 'somebody' },
    }),
    takesRail('machine-payments', 'a machine-payments protocol', () => `mpp:stripe:pi_${token()}`),
    takesRail('open-dollar', 'an open-dollar stablecoin', () => `ousd:eip155:8453/tx:0x${hex()}`),
    takesRail('card-network', 'a card network for agents', () => `agentpay:visa:${token()}`),
    takesRail('card', 'a card checkout', () => `card:stripe:cs_${token()}`),
    takesRail('stablecoin', 'a USD stablecoin', () => `usdc:eip155:84532/tx:0x${hex()}`),
    namesRail('mpp', () => `mpp:stripe:pi_${token()}`),
    namesRail('ousd', () => `ousd:eip155:8453/tx:0x${hex()}`),
    namesRail('agentpay', () => `agentpay:visa:${token()}`),
    namesRail('card', () => `card:stripe:cs_${token()}`),
    namesRail('usdc', () => `usdc:eip155:84532/tx:0x${hex()}/log:3`),
    namesRail('x402', () => `x402:eip155:84532/tx:0x${hex()}`),
    namesRail('other', () => invent('payment')),
    {
      id: 'bind.bare-card',
      title: 'a bare id of the card provider is written with its rail',
      needs: [bindTransaction],
      decided: true,
      run: async (world) => {
        const paymentRef = `pi_${token()}`
        const { body } = await ask(world, { paymentRef, memberId: invent('member') })
        expectEqual(at(body, 'binding.paymentRef'), `card:stripe:${paymentRef}`, 'binding.paymentRef')
      },
    },
    {
      id: 'bind.one-spelling',
      title: 'upper and lower case of a transaction are one payment, and one binding',
      needs: [bindTransaction],
      decided: true,
      run: async (world) => {
        const paymentRef = `usdc:eip155:8453/tx:0x${hex()}`
        const memberId = invent('member')
        const agent = await testAgent(world)
        const first = await bind(world, agent, { paymentRef, memberId })
        const again = await bind(world, agent, { paymentRef: paymentRef.toUpperCase(), memberId })
        expectEqual(again.jwt, first.jwt, 'the first JWT')
      },
    },
    {
      id: 'bind.test-binds-many',
      title: 'a test payment binds any number of humans',
      needs: [bindTransaction],
      decided: true,
      run: async (world) => {
        const paymentRef = invent('payment')
        for (const memberId of [invent('member'), invent('member')])
          expectStatus(await ask(world, { paymentRef, memberId }), 200)
      },
    },
    {
      id: 'bind.live-needs-a-real-human',
      title: 'a live key cannot bind a human that does not exist',
      needs: [bindTransaction],
      decided: true,
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        for (const human of ['sessionId', 'memberId'])
          expectRefusal(
            await world.http.post(
              '/api/agents/bind-transaction',
              { paymentRef: invent('payment'), [human]: invent('human') },
              { key: apiKey },
            ),
            404,
            'not_found',
          )
      },
    },
    {
      id: 'bind.payee-needs-a-chain',
      title: 'a payee is refused where no transaction on a chain is named',
      needs: [bindTransaction],
      decided: true,
      run: async (world) => {
        const body = { paymentRef: invent('payment'), memberId: invent('member') }
        expectRefusal(
          await ask(world, { ...body, payee: `0x${hex().slice(0, 40)}` }),
          400,
          'validation_failed',
        )
      },
    },
    {
      id: 'bind.repeat',
      title: 'the same binding again gives the same JWT',
      needs: [bindTransaction],
      decided: true,
      run: async (world) => {
        const body = { paymentRef: invent('payment'), memberId: invent('member') }
        const agent = await testAgent(world)
        const first = await bind(world, agent, body)
        expectEqual((await bind(world, agent, body)).jwt, first.jwt, 'the first JWT')
      },
    },
    {
      id: 'bind.free',
      title: 'a binding uses no credit',
      needs: [bindTransaction, balance],
      decided: true,
      run: async (world) => {
        const agent = await testAgent(world)
        const before = await readBalance(world, agent)
        const { answer } = await bind(world, agent, {
          paymentRef: invent('payment'),
          workRef: invent('work'),
        })
        expectThat(answer.status === 200, 'a binding', answer.text)
        expectEqual(
          (await readBalance(world, agent)).lifetimeConsumed,
          before.lifetimeConsumed,
          'lifetimeConsumed',
        )
      },
    },
  ],
}
