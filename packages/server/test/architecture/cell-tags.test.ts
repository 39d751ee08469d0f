import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { endpoints, operatorEndpoints, tokenPrefixes, type Endpoint } from '@pohf/protocol'
import { madeWith, routingFaults, tokenFaults } from './cell-tags.ts'
import { readSources } from './stored-formats.ts'

const rows: readonly Endpoint[] = [...endpoints, ...operatorEndpoints]

test('a request to any row carries the tag of its cell, or any cell may answer it', () => {
  assert.ok(rows.length >= 130, `${rows.length} rows`)
  assert.deepEqual(routingFaults(rows), [])
})

test('a row without a tag is found', () => {
  const [row] = endpoints
  assert.ok(row)
  const planted: Endpoint = { ...row, publicId: 'x', path: '/x', body: z.object({ ticket: z.string() }) }
  assert.deepEqual(routingFaults([...rows, planted]), ['POST /x carries no cell tag'])
  assert.deepEqual(routingFaults([...rows, { ...planted, body: z.object({ token: z.string() }) }]), [])
  assert.deepEqual(routingFaults(rows.filter(({ publicId }) => publicId !== 'signing.jwks')), [
    'signing.jwks is excused for nothing',
  ])
})

test('no file makes a token or a cookie besides tokens.ts', () => {
  const files = readSources().filter(({ path }) => path.startsWith('server/src/'))
  assert.ok(files.length >= 400, `${files.length} files`)
  assert.deepEqual(tokenFaults(files), [])
  const plant = (text: string) => tokenFaults([...files, { path: 'server/src/x/y.ts', text }])
  assert.deepEqual(plant('const token = ctx.ids.random()'), ['x/y.ts: random bits without a tag'])
  assert.deepEqual(plant('const { random } = tx.ids'), ['x/y.ts: random taken out of ids'])
  assert.deepEqual(plant('`id=${token}; Path=/; Max-Age=9`'), ['x/y.ts: a cookie of its own'])
})

test('every signed token has a key of its own, and every key that makes a token is listed', () => {
  const signed = Object.entries(tokenPrefixes).flatMap(([prefix, { form }]) =>
    form === 'signed' ? [prefix] : [],
  )
  const made = Object.values(madeWith).filter((prefix) => prefix !== 'no token' && prefix !== 'pur_')
  assert.deepEqual(made.toSorted(), signed.toSorted())
})
