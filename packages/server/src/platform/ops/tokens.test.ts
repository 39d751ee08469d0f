import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import {
  cellOf,
  idPrefixes,
  keyPrefixes,
  tokenPrefixes,
  type IdPrefix,
  type TokenPrefix,
} from '@pohf/protocol'
import { makeIds } from './ids.ts'
import { hashKey, makeKey } from './keys.ts'
import {
  isOwnToken,
  makeRecoveryCode,
  makeToken,
  readSignedToken,
  recoveryCodeHashOf,
  signToken,
  tokenHashOf,
} from './tokens.ts'

const cell = 'b7'
const ids = { cell }
const key = Buffer.alloc(32, 5)
const signer = { cell, keys: [key] } as const
const fields = ['agt_b70', 'live', 'ses_b70', 1_767_225_600]

const prefixes = Object.keys(tokenPrefixes) as TokenPrefix[]
type Form = (typeof tokenPrefixes)[TokenPrefix]['form']
/** Makes a token of any kind and reads it back: true where it is accepted. */
const forms: Record<
  Form,
  { make: (prefix: never) => string; accepts: (prefix: never, text: string) => boolean }
> = {
  random: {
    make: (prefix) => makeToken(ids, prefix),
    accepts: (prefix, text) => tokenHashOf(ids, prefix, text) !== undefined,
  },
  signed: {
    make: (prefix) => signToken(signer, prefix, fields),
    accepts: (prefix, text) => readSignedToken(signer, prefix, text) !== undefined,
  },
}
const formOf = (prefix: TokenPrefix) => forms[tokenPrefixes[prefix].form]

test('every id, key, token and recovery code carries the tag of its cell', () => {
  const made = makeIds(cell, { now: () => new Date(0) })
  const texts = [
    ...(Object.keys(idPrefixes) as IdPrefix[]).map((prefix) => made.make(prefix)),
    ...Object.values(keyPrefixes).map((prefix) => makeKey(prefix, cell)),
    ...prefixes.map((prefix) => formOf(prefix).make(prefix as never)),
    makeRecoveryCode(ids),
  ]
  assert.ok(texts.length >= 33, `${texts.length} kinds`)
  for (const text of texts) assert.equal(cellOf(text), cell, text)
  const ambiguous = [...Object.keys(idPrefixes), ...prefixes, ...Object.values(keyPrefixes)].filter(
    (one, index, all) => all.some((other, at) => at !== index && other.startsWith(one)),
  )
  assert.deepEqual(ambiguous, [], 'one prefix begins like another')
  for (const text of ['', 'b7', 'agt_', 'vt_WyJh.x', 'svc_', makeRecoveryCode(ids).slice(3)])
    assert.equal(cellOf(text), undefined, text)
})

test('a token is accepted as its own kind by its own cell, and as nothing else', () => {
  for (const prefix of prefixes) {
    const { make, accepts } = formOf(prefix)
    const token = make(prefix as never)
    assert.ok(accepts(prefix as never, token), token)
    const foreign = token.replace(`${prefix}b7`, `${prefix}zz`)
    const changed = [foreign, token.slice(0, -1), `${token}A`, ` ${token}`, token.replace(prefix, '')]
    for (const text of [...changed, token.toUpperCase(), `${prefix}${token}`])
      assert.equal(accepts(prefix as never, text), false, `${text} as ${prefix}`)
    for (const other of prefixes)
      if (other !== prefix)
        assert.equal(formOf(other).accepts(other as never, token), false, `${token} as ${other}`)
  }
})

test('a signed token with another tag is refused by both cells, though they held one key', () => {
  const token = signToken(signer, 'vt_', fields)
  assert.deepEqual(readSignedToken(signer, 'vt_', token), fields)
  const relabelled = token.replace('vt_b7', 'vt_zz')
  assert.equal(readSignedToken({ keys: [key], cell: 'zz' }, 'vt_', relabelled), undefined)
  assert.equal(readSignedToken({ keys: [key], cell: 'zz' }, 'vt_', token), undefined)
  assert.equal(readSignedToken({ keys: [Buffer.alloc(32)], cell }, 'vt_', token), undefined)
})

test('every character of a signed token counts, also the last bits of its MAC', () => {
  const token = signToken(signer, 'tkt_', fields)
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'
  for (let position = 0; position < token.length; position++)
    for (const letter of alphabet)
      if (letter !== token[position]) {
        const changed = token.slice(0, position) + letter + token.slice(position + 1)
        assert.equal(readSignedToken(signer, 'tkt_', changed), undefined, changed)
      }
})

test('tokens from before the tags are read until they expire', () => {
  const old = 'o'.repeat(43)
  for (const prefix of ['cnf_', 'rcv_', 'inv_', 'lgn_', 'chl_'] as const) {
    assert.ok(isOwnToken(ids, prefix, old))
    assert.deepEqual(tokenHashOf(ids, prefix, old), hashKey(old))
  }
  const payload = Buffer.from(JSON.stringify(fields)).toString('base64url')
  const mac = createHmac('sha256', key).update(payload).digest().subarray(0, 16).toString('base64url')
  for (const [prefix, before] of [
    ['vt_', 'vt_'],
    ['tkt_', 'tkt_'],
    ['stp_', ''],
  ] as const) {
    assert.deepEqual(readSignedToken(signer, prefix, `${before}${payload}.${mac}`), fields)
    // The MAC of the old form is not one of the new form.
    assert.equal(readSignedToken(signer, prefix, `${prefix}b7${payload}.${mac}`), undefined)
  }
  assert.equal(readSignedToken(signer, 'stp_', `vt_${payload}.${mac}`), undefined)
  assert.equal(readSignedToken(signer, 'vt_', `${payload}.${mac}`), undefined)
  assert.deepEqual(recoveryCodeHashOf(ids, '2345-6789-abcd-efgh'), hashKey('23456789abcdefgh'))
})

test('a random token is the one spelling of 36 bytes, so that a browser returns a challenge unchanged', () => {
  const made = Array.from({ length: 1_000 }, () => makeToken(ids, 'chl_'))
  assert.equal(new Set(made).size, 1_000)
  for (const token of made) {
    assert.equal(token.length, 48)
    assert.equal(Buffer.from(token, 'base64url').toString('base64url'), token)
  }
})

test('a recovery code is read however it is typed, and only by its cell', () => {
  const code = makeRecoveryCode(ids)
  assert.match(code, /^b7(?:-[2-9a-hjkmnp-tv-z]{4}){4}$/)
  const hash = recoveryCodeHashOf(ids, code)
  for (const typed of [code.toUpperCase(), code.replaceAll('-', ' '), code.replaceAll('-', ''), ` ${code}\n`])
    assert.deepEqual(recoveryCodeHashOf(ids, typed), hash, typed)
  assert.equal(recoveryCodeHashOf({ cell: 'zz' }, code), undefined)
  assert.equal(recoveryCodeHashOf(ids, code.slice(0, -1)), undefined)
  assert.equal(recoveryCodeHashOf(ids, ''), undefined)
})
