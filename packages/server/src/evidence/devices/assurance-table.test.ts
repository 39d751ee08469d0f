import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceFacts, payoutFacts, type ShownRoot } from '../../roots/index.ts'
import { assuranceOf, orderRoots } from '../rules.ts'
import type { DeviceRoot } from './attestation.ts'
import { countedRootOf } from './verify.ts'
import { keepsKeysInHardware } from './webauthn.ts'

// The table of docs/guides/devices.md, row by row.

const authenticator: DeviceRoot = { name: 'aaguid', app: { kind: 'rp_id', name: 'pohf.example' } }
const app: DeviceRoot = { name: 'TEAM.app', app: { kind: 'app', name: 'TEAM.app' } }
const act = { mode: 'live', sessionId: 'ses_1', isAdmitted: true } as const

const at = new Date('2026-11-20T10:00:00Z')
const shownBy = (
  root: DeviceRoot | undefined,
  facts: Partial<Parameters<typeof countedRootOf>[1]> = {},
): ShownRoot[] => {
  const shown = countedRootOf({ root }, { ...act, ...facts })
  const of = { ...deviceFacts.authenticator, level: 'substantial', counted: false, fresh: true, at } as const
  return 'root' in shown ? [{ ...of, key: undefined, name: 'aaguid' }] : []
}

test('a model keeps its keys in hardware by a certificate of level 2, or by metadata without software', () => {
  const rows: [number, string[], boolean][] = [
    [0, [], false],
    [1, [], false],
    [1, ['software'], false],
    [1, ['hardware', 'software'], false],
    [0, ['hardware', 'secure_element'], true],
    [1, ['hardware', 'tee'], true],
    [2, [], true],
    [3, ['software'], true],
  ]
  for (const [level, keyProtection, expected] of rows)
    assert.equal(keepsKeysInHardware({ level, keyProtection }), expected, `L${level} ${keyProtection.join()}`)
})

test('what reaches which assurance', () => {
  const facts = { key: 'hash', counted: true, fresh: false, at }
  const account: ShownRoot = { ...payoutFacts, ...facts, name: 'payout_account' }
  const proof: ShownRoot = {
    ...facts,
    kind: 'world_id',
    class: 'biometric:world',
    level: 'high',
    name: 'office',
  }
  const company: ShownRoot = {
    ...facts,
    kind: 'organization',
    class: 'employer',
    level: 'low',
    name: 'acme',
  }
  const rows: [string, readonly ShownRoot[], string][] = [
    ['a session, a wallet, a mail address, a returning browser', [], 'low'],
    ['a software or synced passkey, a certificate of level 1', shownBy(undefined), 'low'],
    ['an authenticator, for no session', shownBy(authenticator, { sessionId: null }), 'low'],
    ['of an agent’s own', shownBy(authenticator, { isAdmitted: false }), 'low'],
    ['an authenticator, in this act', shownBy(authenticator), 'substantial'],
    ['an app, for no session', shownBy(app, { sessionId: null }), 'low'],
    ['an app of an agent’s own', shownBy(app, { isAdmitted: false }), 'low'],
    ['an app, in this act', shownBy(app), 'substantial'],
    ['an account that was paid for work', [account], 'substantial'],
    ['a company, which anybody can found', [company], 'low'],
    ['a company and an authenticator', [company, ...shownBy(authenticator)], 'substantial'],
    ['an outside proof', [proof], 'high'],
    ['an outside proof and an authenticator', [...shownBy(authenticator), proof], 'high'],
  ]
  for (const [name, shown, expected] of rows) assert.equal(assuranceOf(shown), expected, name)
  assert.deepEqual(
    orderRoots([company, ...shownBy(authenticator), account, proof]).map(({ kind }) => kind),
    ['world_id', 'payout_account', 'authenticator', 'organization'],
    'the strongest first: by level, then those that count humans',
  )
})

test('the sandbox simulates acts: there a device counts without a session and without admission', () => {
  assert.equal(shownBy(app, { mode: 'test', sessionId: null, isAdmitted: false }).length, 1)
  assert.deepEqual(shownBy(undefined, { mode: 'test' }), [])
})
