import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StrongRoot } from '../../roots/index.ts'
import { assuranceOf, strongestRoot } from '../rules.ts'
import type { DeviceRoot } from './attestation.ts'
import { countedRootOf } from './verify.ts'
import { keepsKeysInHardware } from './webauthn.ts'

// The table of docs/guides/devices.md, row by row.

const authenticator: DeviceRoot = { name: 'aaguid', app: { kind: 'rp_id', name: 'pohf.example' } }
const app: DeviceRoot = { name: 'TEAM.app', app: { kind: 'app', name: 'TEAM.app' } }
const act = { mode: 'live', sessionId: 'ses_1', isAdmitted: true } as const

const shownBy = (root: DeviceRoot | undefined, facts: Partial<Parameters<typeof countedRootOf>[1]> = {}) => {
  const shown = countedRootOf({ root }, { ...act, ...facts })
  return 'root' in shown ? ({ kind: 'authenticator', ...shown.root } as StrongRoot) : undefined
}
const levelOf = (shown: Partial<Parameters<typeof strongestRoot>[0]>) =>
  assuranceOf(strongestRoot({ external: undefined, device: undefined, payoutAccount: undefined, ...shown }))

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
  const account: StrongRoot = { kind: 'payout_account', key: 'hash', name: 'payout_account' }
  const proof: StrongRoot = { kind: 'external', key: 'nullifier', name: 'office' }
  const rows: [string, Partial<Parameters<typeof strongestRoot>[0]>, string][] = [
    ['a session, a wallet, a mail address, a returning browser', {}, 'low'],
    ['a software or synced passkey, a certificate of level 1', { device: shownBy(undefined) }, 'low'],
    ['an authenticator, for no session', { device: shownBy(authenticator, { sessionId: null }) }, 'low'],
    ['of an agent’s own', { device: shownBy(authenticator, { isAdmitted: false }) }, 'low'],
    ['an authenticator, in this act', { device: shownBy(authenticator) }, 'substantial'],
    ['an app, for no session', { device: shownBy(app, { sessionId: null }) }, 'low'],
    ['an app of an agent’s own', { device: shownBy(app, { isAdmitted: false }) }, 'low'],
    ['an app, in this act', { device: shownBy(app) }, 'substantial'],
    ['an account that was paid for work', { payoutAccount: account }, 'substantial'],
    ['an outside proof', { external: proof }, 'high'],
    ['an outside proof and an authenticator', { external: proof, device: shownBy(authenticator) }, 'high'],
  ]
  for (const [name, shown, expected] of rows) assert.equal(levelOf(shown), expected, name)
})

test('the sandbox simulates acts: there a device counts without a session and without admission', () => {
  assert.ok(shownBy(app, { mode: 'test', sessionId: null, isAdmitted: false }))
  assert.equal(shownBy(undefined, { mode: 'test' }), undefined)
})
