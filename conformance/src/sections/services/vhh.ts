import { compactVerify, createLocalJWKSet } from 'jose'
import {
  Failure,
  at,
  expectAbsent,
  expectEqual,
  expectThat,
  filledListAt,
  listAt,
  numberAt,
  recordAt,
  textAt,
} from '../../expect.ts'
import { indexValue, inputsRoot } from '../../index-value.ts'
import { uniqueText, keySet, testAgent } from '../../fixtures.ts'
import { expectObject, expectRefusal, expectStatus, type HttpResponse } from '../../http.ts'
import { refusesInput, type Section } from '../../statement.ts'
import { oncePerRun, type RunContext } from '../../run-context.ts'

const catalogue = 'GET /api/index'
const composite = 'GET /api/index/vhh'
const series = 'GET /api/index/{code}'
const inputs = 'GET /api/index/vhh/inputs'
const forwards = 'POST /api/forwards/order'
const jwks = 'GET /.well-known/jwks.json'

const freeEpoch = oncePerRun((world) => world.http.get('/api/index/vhh'))

const readWithLicence = async (
  world: RunContext,
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<HttpResponse> => world.http.get(path, { key: (await testAgent(world)).apiKey, query })

const openEpoch = async (world: RunContext, jws: string): Promise<{ alg: unknown; payload: unknown }> => {
  try {
    const { payload, protectedHeader } = await compactVerify(jws, createLocalJWKSet(await keySet(world)))
    return { alg: protectedHeader.alg, payload: JSON.parse(new TextDecoder().decode(payload)) }
  } catch (error) {
    throw new Failure('an epoch that verifies against the JWKS', error instanceof Error ? error.message : jws)
  }
}

export const rateIndex: Section = {
  name: 'Reference rates',
  statements: [
    {
      id: 'index.catalogue',
      title: 'the catalogue lists the published codes with their latest final epoch',
      needs: [catalogue],
      isProjectDecision: true,
      run: async ({ http }) => {
        const answer = await http.get('/api/index')
        expectStatus(answer, 200)
        for (const entry of filledListAt(answer.body, 'codes')) {
          textAt(entry, 'code')
          textAt(entry, 'latest.epoch')
          textAt(entry, 'latest.jws')
        }
      },
    },
    {
      id: 'index.catalogue-is-free',
      title: 'the catalogue is free',
      needs: [catalogue],
      run: async ({ http }) => expectObject(await http.get('/api/index')),
    },
    {
      id: 'index.catalogue-is-cached',
      title: 'the catalogue may be kept by caches',
      needs: [catalogue],
      run: async ({ http }) => {
        const answer = await http.get('/api/index')
        expectStatus(answer, 200)
        const cache = answer.headers.get('cache-control') ?? ''
        expectThat(/\bmax-age=\d+/.test(cache) && !/\bno-store\b/.test(cache), 'a max-age', cache)
      },
    },
    {
      id: 'index.composite-is-free',
      title: 'the latest final epoch of the composite is free',
      needs: [composite],
      run: async (world) => expectObject(await freeEpoch(world)),
    },
    {
      id: 'index.composite-signed',
      title: 'the epoch is signed with ES256 and verifies against the public keys',
      needs: [composite, jwks],
      run: async (world) => {
        const { alg } = await openEpoch(world, textAt((await freeEpoch(world)).body, 'jws'))
        expectEqual(alg, 'ES256', 'alg')
      },
    },
    {
      id: 'index.composite-signs-what-it-says',
      title: 'what is signed is the epoch and the value of the answer',
      needs: [composite, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await freeEpoch(world)
        const { payload } = await openEpoch(world, textAt(body, 'jws'))
        expectEqual(at(payload, 'epoch'), textAt(body, 'epoch'), 'epoch')
        const value = at(body, 'value')
        expectThat(value === null || typeof value === 'number', 'a value or null', value)
        expectEqual(at(payload, 'value'), value, 'value')
      },
    },
    {
      id: 'index.composite-is-final',
      title: 'the free epoch is a month that is over',
      needs: [composite],
      isProjectDecision: true,
      run: async (world) => {
        const epoch = textAt((await freeEpoch(world)).body, 'epoch')
        expectThat(/^\d{4}-(0[1-9]|1[0-2])$/.test(epoch), 'YYYY-MM', epoch)
        expectThat(epoch < new Date().toISOString().slice(0, 7), 'an earlier month', epoch)
      },
    },
    {
      id: 'index.value-only-if-final',
      title:
        'an epoch has a value exactly if it is final; without one it says what was missing, and may name the last value',
      needs: [composite],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await freeEpoch(world)
        const [value, status] = [at(body, 'value'), textAt(body, 'status')]
        expectEqual(status, value === null ? 'insufficient_data' : 'final', 'status')
        if (value !== null) return
        filledListAt(body, 'tooFew')
        const carried = at(body, 'carried')
        expectThat(carried === null || typeof carried === 'object', 'the last value or null', carried)
      },
    },
    {
      id: 'index.counts',
      title:
        'an epoch says how many hours, funding clusters and workers are behind it, and signs them with the root of its inputs',
      needs: [composite, jwks],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await freeEpoch(world)
        for (const name of ['hours', 'clusters', 'workers', 'units']) numberAt(body, `inputs.${name}`)
        const root = textAt(body, 'inputsRoot')
        expectThat(/^[0-9a-f]{64}$/.test(root), '64 hexadecimal digits', root)
        const { payload } = await openEpoch(world, textAt(body, 'jws'))
        expectEqual(at(payload, 'inputsRoot'), root, 'inputsRoot')
        expectEqual(at(payload, 'inputs.hours'), numberAt(body, 'inputs.hours'), 'inputs.hours')
      },
    },
    {
      id: 'index.inputs-recompute',
      title:
        'the inputs of an epoch have its signed root, and the value follows from them; without a value none are published',
      needs: [inputs],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await world.http.get('/api/index/vhh/inputs')
        const [epoch, published] = [recordAt(body, 'epoch'), at(body, 'inputs')]
        expectEqual(published === null, at(epoch, 'value') === null, 'inputs without a value')
        const { payload } = await openEpoch(world, textAt(epoch, 'jws'))
        if (published === null) return
        expectEqual(at(payload, 'inputsRoot'), inputsRoot(published), 'inputsRoot')
        const difference = Math.abs(indexValue(published) - numberAt(payload, 'value'))
        // Floating point here, integers there: a cent at most.
        expectThat(difference < 0.015, 'the signed value', indexValue(published))
      },
    },
    {
      id: 'index.inputs-unknown-month',
      title: 'the inputs of a month that was not published are not found',
      needs: [inputs],
      isProjectDecision: true,
      run: async ({ http }) => {
        expectRefusal(
          await http.get('/api/index/vhh/inputs', { query: { epoch: '1999-01' } }),
          404,
          'not_found',
        )
      },
    },
    {
      id: 'index.free-tier-ends-there',
      title: 'without a key there is no month to date, no category and no history',
      needs: [composite],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await freeEpoch(world)
        expectObject(answer)
        for (const name of ['monthToDate', 'categories', 'history']) expectAbsent(answer.body, name)
      },
    },
    {
      id: 'index.licensed-tier',
      title: 'with a key come the month to date and the categories',
      needs: [composite],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await readWithLicence(world, '/api/index/vhh')
        expectStatus(answer, 200)
        recordAt(answer.body, 'monthToDate')
        listAt(answer.body, 'categories')
      },
    },
    {
      id: 'index.licensed-history',
      title: 'with a key and history=1 comes the history',
      needs: [composite],
      isProjectDecision: true,
      run: async (world) => {
        const answer = await readWithLicence(world, '/api/index/vhh', { history: '1' })
        expectStatus(answer, 200)
        for (const epoch of filledListAt(answer.body, 'history')) textAt(epoch, 'jws')
      },
    },
    {
      id: 'index.series',
      title: 'with a key a category has its series',
      needs: [series],
      run: async (world) => expectObject(await readWithLicence(world, '/api/index/VHH_labeling')),
    },
    {
      id: 'index.series-fields',
      title: 'a series names its code and lists its epochs, also where there is none yet',
      needs: [series],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await readWithLicence(world, '/api/index/VHH_conformance')
        expectEqual(at(body, 'code'), 'VHH_conformance', 'code')
        recordAt(body, 'monthToDate')
        listAt(body, 'series')
      },
    },
    {
      id: 'index.series-form',
      title: 'a code that does not begin with VHH_ is refused',
      needs: [series],
      isProjectDecision: true,
      run: async (world) =>
        expectRefusal(await readWithLicence(world, '/api/index/ABC_labeling'), 400, 'validation_failed'),
    },
  ],
}

const request = (): Record<string, unknown> => ({
  name: 'Ada',
  company: 'Conformance',
  email: `${uniqueText('conformance')}@example.com`,
  hours: 40,
  month: `${new Date().getUTCFullYear() + 1}-03`,
})

const withoutField = (field: string): Record<string, unknown> => ({ ...request(), [field]: undefined })
const sharedForwardOrder = oncePerRun((world) => world.http.post('/api/forwards/order', request()))

const isRequired = (field: string) =>
  refusesInput(`forwards.${field}-required`, `a request without its ${field} is refused`, forwards, {
    field,
    body: withoutField(field),
    isPublic: true,
  })

export const capacity: Section = {
  name: 'POST /api/forwards/order',
  statements: [
    {
      id: 'forwards.received',
      title: 'a request for capacity is received',
      needs: [forwards],
      run: async (world) => expectObject(await sharedForwardOrder(world)),
    },
    {
      id: 'forwards.reference',
      title: 'the answer gives a reference and says what follows',
      needs: [forwards],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await sharedForwardOrder(world)
        textAt(body, 'orderId')
        expectEqual(at(body, 'status'), 'received', 'status')
        textAt(body, 'next')
      },
    },
    {
      id: 'forwards.assessment',
      title: 'the answer assesses whether the hours are there',
      needs: [forwards],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await sharedForwardOrder(world)
        expectEqual(at(body, 'capacity.hoursRequested'), 40, 'hoursRequested')
        numberAt(body, 'capacity.hoursAvailable')
        const assessment = textAt(body, 'capacity.assessment')
        expectThat(
          ['within', 'stretch', 'beyond'].includes(assessment),
          'within, stretch or beyond',
          assessment,
        )
      },
    },
    {
      id: 'forwards.price',
      title: 'the answer gives an indicative price, or says that the index has no value yet',
      needs: [forwards],
      isProjectDecision: true,
      run: async (world) => {
        const indicative = recordAt((await sharedForwardOrder(world)).body, 'indicative')
        const { vhhUsd, totalUsd } = indicative as { vhhUsd?: unknown; totalUsd?: unknown }
        const isPriced = typeof vhhUsd === 'number' && typeof totalUsd === 'number'
        expectThat(
          isPriced || (vhhUsd === null && totalUsd === null),
          'two prices, or null twice',
          indicative,
        )
        textAt(indicative, 'epoch')
      },
    },
    {
      id: 'forwards.price-follows-index',
      title:
        'the indicative price is the value of the index, or the one that it carries, times hours with the premium',
      needs: [forwards, composite],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await sharedForwardOrder(world)
        const epoch = (await freeEpoch(world)).body
        const named = at(epoch, 'value') ?? at(epoch, 'carried.value')
        const value = typeof named === 'number' ? named : null
        expectEqual(at(body, 'indicative.vhhUsd'), value, 'vhhUsd')
        if (value === null) return
        const cents = Math.round(
          (Math.round(value * 100) * 40 * (100 + numberAt(body, 'indicative.premiumPct'))) / 100,
        )
        expectEqual(at(body, 'indicative.totalUsd'), cents / 100, 'totalUsd')
      },
    },
    {
      id: 'forwards.terms',
      title: 'the capacity is not transferable, not resellable and not settled in cash',
      needs: [forwards],
      isProjectDecision: true,
      run: async (world) => {
        const { body } = await sharedForwardOrder(world)
        for (const name of ['transferable', 'resellable', 'cashSettled'])
          expectEqual(at(body, `terms.${name}`), false, name)
      },
    },
    {
      id: 'forwards.optional-fields',
      title: 'a category and notes may be added',
      needs: [forwards],
      run: async ({ http }) => {
        const body = { ...request(), category: 'labeling', notes: 'In German, please.' }
        expectObject(await http.post('/api/forwards/order', body))
      },
    },
    isRequired('name'),
    isRequired('company'),
    isRequired('email'),
    isRequired('hours'),
    isRequired('month'),
    refusesInput('forwards.month-form', 'a month that is not YYYY-MM is refused', forwards, {
      field: 'month',
      body: { ...request(), month: 'March' },
      isPublic: true,
    }),
    refusesInput('forwards.month-exists', 'a thirteenth month is refused', forwards, {
      field: 'month',
      body: { ...request(), month: '2027-13' },
      isPublic: true,
    }),
    refusesInput('forwards.hours-are-a-number', 'text does not pass for hours', forwards, {
      field: 'hours',
      body: { ...request(), hours: '40' },
      isPublic: true,
    }),
  ],
}
