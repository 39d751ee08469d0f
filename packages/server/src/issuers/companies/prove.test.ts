import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../platform/ops/config.ts'
import { makeLogger } from '../../platform/ops/log.ts'
import { proveCompany, type ProveDeps } from './prove.ts'
import { recordNameOf, recordValueOf, stateOf } from './rules.ts'

const tenant = 'https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0'
const domain = 'nordwind.example'
const company = { agent_id: 'agt_1', issuer_id: 'iss_1', issuer: tenant, domain, token: 't'.repeat(43) }
const config = readConfig({ DATABASE_URL: 'postgres://nowhere' })

/** Entra as it answers for a domain: with the tenant that the domain belongs to. */
const prove = async (issuer: string | undefined, texts: readonly string[]) => {
  const calls: string[] = []
  const deps: ProveDeps = {
    ctx: { config, log: makeLogger('silent') },
    readTexts: async (name) => (name === recordNameOf(domain) ? texts : []),
    send: async ({ url, trust }) => {
      calls.push(url)
      assert.equal(trust, 'user')
      const body = JSON.stringify(issuer === undefined ? { error: 'invalid_tenant' } : { issuer })
      return {
        status: issuer === undefined ? 400 : 200,
        headers: {},
        complete: true,
        bytes: Buffer.from(body),
        body,
      }
    },
  }
  return { fault: await proveCompany(deps, company), calls }
}
const published = [recordValueOf(company.token)]

test('a tenant of Entra is proved by the domain that Entra says it has, beside the record of the domain', async () => {
  const { fault, calls } = await prove(tenant, published)
  assert.equal(fault, undefined)
  assert.deepEqual(calls, [
    `https://login.microsoftonline.com/${domain}/v2.0/.well-known/openid-configuration`,
  ])
})

test('the tenant of another company is refused, also where the record of the domain is right', async () => {
  const other = tenant.replace('1111', '9999')
  assert.equal((await prove(other, published)).fault, 'tenant_mismatch')
  assert.equal((await prove(undefined, published)).fault, 'tenant_mismatch')
})

test('without the record nothing is called', async () => {
  for (const texts of [[], ['pohf-domain-verification='], [`${published[0]} `], [company.token]]) {
    const { fault, calls } = await prove(tenant, texts)
    assert.deepEqual([fault, calls], ['record_missing', []])
  }
})

test('a check counts for three days, and none counts before the first that succeeded', () => {
  const seenAt = new Date('2026-11-01T00:00:00Z')
  const failedSince = new Date('2026-11-02T00:00:00Z')
  const at = (hours: number) => new Date(seenAt.getTime() + hours * 3_600_000)
  assert.equal(stateOf({ seenAt: null, failedSince }, at(0)), 'waiting')
  assert.equal(stateOf({ seenAt, failedSince: null }, at(71)), 'ready')
  assert.equal(stateOf({ seenAt, failedSince }, at(71)), 'missing')
  assert.equal(stateOf({ seenAt, failedSince }, at(72)), 'stopped')
  // Where no worker checks, it stops too.
  assert.equal(stateOf({ seenAt, failedSince: null }, at(72)), 'stopped')
})
