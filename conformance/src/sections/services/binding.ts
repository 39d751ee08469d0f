import { decodeProtectedHeader } from 'jose'
import { at, booleanAt, expectEqual, expectThat, fractionAt, textAt } from '../../expect.ts'
import { mintBinding, uniqueText, liveAgent, readBalance, testAgent } from '../../fixtures.ts'
import { expectRefusal, expectStatus } from '../../http.ts'
import { refusesInput, type Section, type Statement } from '../../statement.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'

const bindTransaction = 'POST /api/agents/bind-transaction'
const balance = 'GET /api/agents/credits/balance'
const jwks = 'GET /.well-known/jwks.json'

const sharedBinding = oncePerRun(async (world) => {
  const paymentRef = uniqueText('payment')
  const minted = await mintBinding(world, await testAgent(world), {
    paymentRef,
    memberId: uniqueText('member'),
  })
  return { paymentRef, minted }
})

const acceptsHumanField = (field: string): Statement => ({
  id: `bind.human-${field}`,
  title: `the human can be named by ${field} alone`,
  needs: [bindTransaction],
  isProjectDecision: true,
  run: async (world) => {
    const body = { paymentRef: uniqueText('payment'), [field]: uniqueText('human') }
    expectStatus((await mintBinding(world, await testAgent(world), body)).answer, 200)
  },
})

const acceptsPaymentRail = (name: string, title: string, reference: () => string): Statement => ({
  id: `bind.rail-${name}`,
  title: `a payment on ${title} can be bound`,
  needs: [bindTransaction],
  run: async (world) => {
    const body = { paymentRef: reference(), memberId: uniqueText('member') }
    const { answer, jwt } = await mintBinding(world, await testAgent(world), body)
    expectStatus(answer, 200)
    expectEqual(decodeProtectedHeader(jwt).alg, 'ES256', 'alg')
  },
})

const hex = (): string =>
  (uniqueText('').replaceAll('-', '') + uniqueText('').replaceAll('-', '')).slice(0, 64)
const token = (): string => uniqueText('').replaceAll('-', '').slice(0, 24)

const reportsPaymentRail = (rail: string, reference: () => string): Statement => ({
  id: `bind.names-rail-${rail}`,
  title: `a reference of rail ${rail} is known as one`,
  needs: [bindTransaction],
  isProjectDecision: true,
  run: async (world) => {
    const paymentRef = reference()
    const { body } = await requestBinding(world, { paymentRef, memberId: uniqueText('member') })
    expectEqual(at(body, 'binding.rail'), rail, 'binding.rail')
    expectEqual(at(body, 'binding.paymentRef'), paymentRef, 'binding.paymentRef')
  },
})

const requestBinding = async (world: RunContext, body: Readonly<Record<string, unknown>>) =>
  world.http.post('/api/agents/bind-transaction', body, { key: (await testAgent(world)).apiKey })

export const transactionBinding: Section = {
  name: 'POST /api/agents/bind-transaction',
  statements: [
    {
      id: 'bind.mints',
      title: 'a human and a payment reference are bound into a signed credential',
      needs: [bindTransaction, jwks],
      run: async (world) => {
        const { minted } = await sharedBinding(world)
        expectStatus(minted.answer, 200)
        textAt(await minted.claims(), 'iss')
      },
    },
    {
      id: 'bind.fields',
      title: 'a binding is answered like any other credential',
      needs: [bindTransaction],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = (await sharedBinding(world)).minted.answer
        booleanAt(body, 'verified')
        fractionAt(body, 'quality')
        textAt(body, 'credentialId')
      },
    },
    {
      id: 'bind.names-payment',
      title: 'the credential names the payment that it binds',
      needs: [bindTransaction, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const { minted, paymentRef } = await sharedBinding(world)
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
        const { minted } = await sharedBinding(world)
        expectEqual((await minted.claims())['test'], true, 'test')
      },
    },
    acceptsHumanField('sessionId'),
    acceptsHumanField('memberId'),
    acceptsHumanField('workRef'),
    {
      id: 'bind.no-human',
      title: 'a payment without a human is refused',
      needs: [bindTransaction],
      run: async (world) => {
        const paymentRef = uniqueText('payment')
        expectRefusal(await requestBinding(world, { paymentRef }), 400)
        expectStatus(await requestBinding(world, { paymentRef, memberId: uniqueText('member') }), 200)
      },
    },
    {
      id: 'bind.no-payment',
      title: 'a human without a payment is refused',
      needs: [bindTransaction],
      run: async (world) => {
        const memberId = uniqueText('member')
        expectRefusal(await requestBinding(world, { memberId }), 400)
        expectStatus(await requestBinding(world, { memberId, paymentRef: uniqueText('payment') }), 200)
      },
    },
    {
      id: 'bind.anchor-codes',
      title: 'the refusal says which of the two is missing',
      needs: [bindTransaction],
      isProjectDecision: true,
      run: async (world) => {
        const [paymentRef, memberId] = [uniqueText('payment'), uniqueText('member')]
        expectRefusal(await requestBinding(world, { paymentRef }), 400, 'missing_human_anchor')
        expectRefusal(await requestBinding(world, { memberId }), 400, 'missing_payment_anchor')
      },
    },
    {
      id: 'bind.rehearsal',
      title: 'with test: true a live key binds without any live payment, and the result is marked as a test',
      needs: [bindTransaction, jwks],
      run: async (world) => {
        const body = { memberId: uniqueText('member'), test: true }
        const minted = await mintBinding(world, await liveAgent(world), body)
        expectStatus(minted.answer, 200)
        expectEqual((await minted.claims())['test'], true, 'test')
      },
    },
    {
      id: 'bind.rehearsal-needs-human',
      title: 'test: true stands in for the payment, not for the human',
      needs: [bindTransaction],
      isProjectDecision: true,
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
    acceptsPaymentRail('machine-payments', 'a machine-payments protocol', () => `mpp:stripe:pi_${token()}`),
    acceptsPaymentRail('open-dollar', 'an open-dollar stablecoin', () => `ousd:eip155:8453/tx:0x${hex()}`),
    acceptsPaymentRail('card-network', 'a card network for agents', () => `agentpay:visa:${token()}`),
    acceptsPaymentRail('card', 'a card checkout', () => `card:stripe:cs_${token()}`),
    acceptsPaymentRail('stablecoin', 'a USD stablecoin', () => `usdc:eip155:84532/tx:0x${hex()}`),
    reportsPaymentRail('mpp', () => `mpp:stripe:pi_${token()}`),
    reportsPaymentRail('ousd', () => `ousd:eip155:8453/tx:0x${hex()}`),
    reportsPaymentRail('agentpay', () => `agentpay:visa:${token()}`),
    reportsPaymentRail('card', () => `card:stripe:cs_${token()}`),
    reportsPaymentRail('usdc', () => `usdc:eip155:84532/tx:0x${hex()}/log:3`),
    reportsPaymentRail('x402', () => `x402:eip155:84532/tx:0x${hex()}`),
    reportsPaymentRail('other', () => uniqueText('payment')),
    {
      id: 'bind.bare-card',
      title: 'a bare id of the card provider is written with its rail',
      needs: [bindTransaction],
      isProjectDecision: true,
      run: async (world) => {
        const paymentRef = `pi_${token()}`
        const { body } = await requestBinding(world, { paymentRef, memberId: uniqueText('member') })
        expectEqual(at(body, 'binding.paymentRef'), `card:stripe:${paymentRef}`, 'binding.paymentRef')
      },
    },
    {
      id: 'bind.one-spelling',
      title: 'upper and lower case of a transaction are one payment, and one binding',
      needs: [bindTransaction],
      isProjectDecision: true,
      run: async (world) => {
        const paymentRef = `usdc:eip155:8453/tx:0x${hex()}`
        const memberId = uniqueText('member')
        const agent = await testAgent(world)
        const first = await mintBinding(world, agent, { paymentRef, memberId })
        const again = await mintBinding(world, agent, { paymentRef: paymentRef.toUpperCase(), memberId })
        expectEqual(again.jwt, first.jwt, 'the first JWT')
      },
    },
    {
      id: 'bind.test-binds-many',
      title: 'a test payment binds any number of humans',
      needs: [bindTransaction],
      isProjectDecision: true,
      run: async (world) => {
        const paymentRef = uniqueText('payment')
        for (const memberId of [uniqueText('member'), uniqueText('member')])
          expectStatus(await requestBinding(world, { paymentRef, memberId }), 200)
      },
    },
    {
      id: 'bind.live-needs-a-real-human',
      title: 'a live key cannot bind a human that does not exist',
      needs: [bindTransaction],
      isProjectDecision: true,
      run: async (world) => {
        const { apiKey } = await liveAgent(world)
        for (const human of ['sessionId', 'memberId'])
          expectRefusal(
            await world.http.post(
              '/api/agents/bind-transaction',
              { paymentRef: uniqueText('payment'), [human]: uniqueText('human') },
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
      isProjectDecision: true,
      run: async (world) => {
        const body = { paymentRef: uniqueText('payment'), memberId: uniqueText('member') }
        expectRefusal(
          await requestBinding(world, { ...body, payee: `0x${hex().slice(0, 40)}` }),
          400,
          'validation_failed',
        )
      },
    },
    {
      id: 'bind.repeat',
      title: 'the same binding again gives the same JWT',
      needs: [bindTransaction],
      isProjectDecision: true,
      run: async (world) => {
        const body = { paymentRef: uniqueText('payment'), memberId: uniqueText('member') }
        const agent = await testAgent(world)
        const first = await mintBinding(world, agent, body)
        expectEqual((await mintBinding(world, agent, body)).jwt, first.jwt, 'the first JWT')
      },
    },
    {
      id: 'bind.free',
      title: 'a binding uses no credit',
      needs: [bindTransaction, balance],
      isProjectDecision: true,
      run: async (world) => {
        const agent = await testAgent(world)
        const before = await readBalance(world, agent)
        const { answer } = await mintBinding(world, agent, {
          paymentRef: uniqueText('payment'),
          workRef: uniqueText('work'),
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
