import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey } from '../../../test/fixtures/trust/key-server.ts'
import {
  constraint,
  dropConstraint,
  replaceConstraint,
  set,
  startMandateOrders,
} from '../../../test/fixtures/trust/mandate-orders.ts'
import { digestOf, disclose, referTo, type MandateOptions } from '../../../test/fixtures/trust/mandates.ts'

const { harness, wallet, now, order, countOrders } = await startMandateOrders()
const day = 86_400
const other = await makeKey.p256()

/** Every rule, by the code of its refusal, with mandates that break it and nothing else. */
const cases: readonly (readonly [name: string, code: string, Partial<MandateOptions>])[] = [
  [
    'an issuer key that is not published',
    'untrusted_agent',
    { changes: { root: (_, header) => (header['kid'] = 'other') } },
  ],
  ['a root that another key signed', 'signature_wrong', { changes: { keys: { issuer: other } } }],
  ['an open hop that another key signed', 'signature_wrong', { changes: { keys: { user: other } } }],
  ['a closed hop that another key signed', 'signature_wrong', { changes: { keys: { agent: other } } }],
  ['a root that is no SD-JWT', 'typ', { changes: { root: (_, header) => (header['typ'] = 'JWT') } }],
  [
    'an open hop with the typ of a closed one',
    'typ',
    { changes: { openHop: (_, __, header) => (header['typ'] = 'kb+sd-jwt') } },
  ],
  [
    'a closed hop with the typ of an open one',
    'typ',
    { changes: { closedHop: (_, __, header) => (header['typ'] = 'kb+sd-jwt+kb') } },
  ],
  [
    'an open hop that is bound to another root',
    'binding',
    { changes: set('openHop', 'payment', { sd_hash: digestOf('other') }) },
  ],
  [
    'a closed hop that is bound to nothing',
    'binding',
    { changes: set('closedHop', 'payment', { sd_hash: undefined, issuer_jwt_hash: undefined }) },
  ],
  [
    'a closed hop with two bindings',
    'binding',
    { changes: set('closedHop', 'payment', { sd_hash: digestOf('x') }) },
  ],
  ['an open mandate without cnf', 'cnf_missing', { changes: set('open', 'payment', { cnf: undefined }) }],
  [
    'an open mandate with a private key',
    'cnf_key',
    { changes: set('open', 'payment', { cnf: { jwk: wallet.agent.privateJwk } }) },
  ],
  ['a closed mandate with cnf', 'cnf_in_closed', { changes: set('closed', 'payment', { cnf: { jwk: {} } }) }],
  [
    'a closed mandate with constraints',
    'constraints_in_closed',
    { changes: set('closed', 'checkout', { constraints: [] }) },
  ],
  ['another audience', 'audience', { changes: set('closedHop', 'payment', { aud: 'https://shop.example' }) }],
  [
    'the audience of the agent in immediate mode',
    'audience',
    { immediate: true, changes: set('closedHop', 'checkout', { aud: 'agent' }) },
  ],
  ['another nonce', 'nonce', { changes: set('closedHop', 'payment', { nonce: 'quo_other' }) }],
  [
    'another nonce for the checkout',
    'nonce',
    { changes: set('closedHop', 'checkout', { nonce: 'quo_other' }) },
  ],
  ['a closed hop without iat', 'too_old', { changes: set('closedHop', 'payment', { iat: undefined }) }],
  [
    'a closed hop of six minutes ago',
    'too_old',
    { changes: set('closedHop', 'payment', { iat: now() - 360 }) },
  ],
  ['a closed hop of the future', 'in_future', { changes: set('closedHop', 'payment', { iat: now() + 600 }) }],
  ['a root that has expired', 'expired', { changes: { root: (payload) => (payload['exp'] = now() - 61) } }],
  ['an open hop that has expired', 'expired', { changes: set('openHop', 'payment', { exp: now() - 61 }) }],
  ['an open mandate that has expired', 'expired', { changes: set('open', 'payment', { exp: now() - 61 }) }],
  [
    'an open mandate that never expires',
    'expiry',
    {
      changes: {
        root: (payload) => (payload['exp'] = undefined),
        openHop: (_, payload) => (payload['exp'] = undefined),
      },
    },
  ],
  [
    'an open mandate of two years',
    'expiry',
    {
      changes: {
        root: (payload) => (payload['exp'] = now() + 800 * day),
        openHop: (_, payload) => (payload['exp'] = now() + 730 * day),
      },
    },
  ],
  ['no checkout_jwt', 'quote', { changes: set('closed', 'checkout', { checkout_jwt: undefined }) }],
  [
    'another checkout_hash',
    'checkout_hash',
    { changes: set('closed', 'checkout', { checkout_hash: digestOf('other') }) },
  ],
  [
    'another transaction_id',
    'transaction_id',
    { changes: set('closed', 'payment', { transaction_id: digestOf('other') }) },
  ],
  [
    'a smaller amount than was quoted',
    'amount',
    { changes: set('closed', 'payment', { payment_amount: { amount: 1, currency: 'USD' } }) },
  ],
  [
    'another currency',
    'amount',
    { changes: set('closed', 'payment', { payment_amount: { amount: 150, currency: 'EUR' } }) },
  ],
  [
    'another payee',
    'payee',
    {
      changes: set('closed', 'payment', {
        payee: { id: 'https://shop.example', name: 'PoHF', website: harness.ctx.config.BASE_URL },
      }),
    },
  ],
  [
    'an open payment mandate for another checkout',
    'payment.reference',
    {
      changes: replaceConstraint(/reference/, {
        type: 'payment.reference',
        conditional_transaction_id: digestOf('other'),
      }),
    },
  ],
  ['no payment.reference', 'constraint_missing', { changes: dropConstraint(/reference/) }],
  ['no limit of the amount', 'constraint_missing', { changes: dropConstraint(/amount/) }],
  ['no line items', 'constraint_missing', { changes: dropConstraint(/line_items/) }],
  ['a limit one cent below the total', 'payment.amount_range', { limitUsdCents: 149 }],
  [
    'a limit in another currency',
    'payment.amount_range',
    { changes: replaceConstraint(/amount/, { type: 'payment.amount_range', currency: 'EUR', max: 1_000 }) },
  ],
  [
    'a limit with a fraction',
    'payment.amount_range',
    { changes: replaceConstraint(/amount/, { type: 'payment.amount_range', currency: 'USD', max: 150.5 }) },
  ],
  [
    'a minimum above the total',
    'payment.amount_range',
    {
      changes: replaceConstraint(/amount/, {
        type: 'payment.amount_range',
        currency: 'USD',
        min: 151,
        max: 1_000,
      }),
    },
  ],
  ['another task type', 'checkout.line_items', { taskType: 'wf_text_review' }],
  ['a smaller quantity', 'checkout.line_items', { quantity: 2 }],
  [
    'line items of any kind',
    'checkout.line_items',
    {
      changes: replaceConstraint(/line_items/, {
        type: 'checkout.line_items',
        items: [{ id: '1', acceptable_items: [], quantity: 9 }],
      }),
    },
  ],
  [
    'merchants without us',
    'checkout.allowed_merchants',
    {
      changes: replaceConstraint(/merchants/, {
        type: 'checkout.allowed_merchants',
        allowed: [{ id: 'https://shop.example', name: 'Shop' }],
      }),
    },
  ],
  [
    'payees that are not disclosed',
    'payment.allowed_payees',
    {
      changes: replaceConstraint(/payees/, {
        type: 'payment.allowed_payees',
        allowed: [referTo(disclose({ id: harness.ctx.config.BASE_URL }))],
      }),
    },
  ],
  [
    'a budget below the total',
    'payment.budget',
    { changes: constraint('payment', { type: 'payment.budget', currency: 'USD', max: 149 }) },
  ],
  [
    'an unknown constraint of the payment',
    'constraint_unknown',
    { changes: constraint('payment', { type: 'payment.allowed_pisps', allowed: [] }) },
  ],
  [
    'an unknown constraint of the checkout',
    'constraint_unknown',
    { changes: constraint('checkout', { type: 'urn:example:colour', colour: 'red' }) },
  ],
  [
    'a constraint of Object.prototype',
    'constraint_unknown',
    { changes: constraint('payment', { type: 'constructor' }) },
  ],
  ['a constraint without a type', 'constraint_unknown', { changes: constraint('payment', 'none') }],
  [
    'a recurrence that is over',
    'payment.agent_recurrence',
    {
      changes: constraint('payment', {
        type: 'payment.agent_recurrence',
        frequency: 'DAILY',
        end_date: '2020-01-01',
      }),
    },
  ],
  [
    'an unknown frequency',
    'payment.agent_recurrence',
    { changes: constraint('payment', { type: 'payment.agent_recurrence', frequency: 'HOURLY' }) },
  ],
  ['mandates of another kind', 'vct', { changes: set('closed', 'payment', { vct: 'mandate.checkout.1' }) }],
]
for (const [name, code, more] of cases)
  test(`mandates with ${name} are refused as ${code}`, async () => {
    const before = await countOrders()
    const answer = await order(more)
    assert.equal(answer.status, 401, answer.text)
    if (code === 'untrusted_agent') assert.equal(answer.json.error, code)
    else {
      assert.equal(answer.json.error, 'mandate_invalid', answer.text)
      assert.equal(answer.json.details[0].code, code, answer.text)
    }
    assert.equal(await countOrders(), before)
  })
