import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from './errors.ts'
import { checkAndNarrow, checkRefusals, firstRefusal, refusalOrThrow, type Refusals } from './refusals.ts'

type Facts = { readonly found: string | undefined; readonly isExpired: boolean }
const missing = new Refusal('not_found')
const expired = new Refusal('session_expired')
const refusals: Refusals<Facts> = [
  ['found', ({ found }) => (found === undefined ? missing : undefined)],
  ['not_expired', ({ isExpired }) => (isExpired ? expired : undefined)],
]
const narrow = ({ found }: Facts) => found

test('of several refusals that apply, the first of the list is answered', () => {
  const facts = { found: undefined, isExpired: true }
  assert.equal(firstRefusal(refusals, facts), missing)
  assert.throws(() => checkRefusals(refusals, facts), missing)
  assert.throws(() => checkAndNarrow(refusals, facts, narrow), missing)
  assert.equal(firstRefusal(refusals, { found: 'x', isExpired: true }), expired)
})

test('facts that no refusal applies to pass and are narrowed', () => {
  const facts = { found: '', isExpired: false }
  assert.equal(firstRefusal(refusals, facts), undefined)
  checkRefusals(refusals, facts)
  assert.equal(checkAndNarrow(refusals, facts, narrow), '')
})

test('a list that forgets a check is an internal error that names the list, never a refusal', () => {
  const facts = { found: undefined, isExpired: false }
  assert.throws(
    () => checkAndNarrow(refusals.slice(1), facts, narrow),
    (error) => error instanceof Error && !(error instanceof Refusal) && error.message.includes('not_expired'),
  )
})

test('only a refusal is kept as a fact; any other error is thrown', () => {
  assert.equal(refusalOrThrow(missing), missing)
  const fault = new Error('disk full')
  assert.throws(() => refusalOrThrow(fault), fault)
})
