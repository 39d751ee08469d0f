// What a script must not get: anything above `low`, anything for the chain, or more from one address than its budget.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { grantCredits } from '../../server/test/fixtures/payments/ledger.ts'
import { makeAttestedModel } from '../../server/test/fixtures/people/attested-model.ts'
import {
  makeAppAttestation,
  makeAppDevice,
  sha256,
} from '../../server/test/fixtures/people/device-attestation.ts'
import { enrolMember, registerConfirmedAgent } from '../../server/test/fixtures/people/member.ts'
import { openSecurityKey } from '../../server/test/fixtures/people/security-key.ts'
import { makeWalletClients, newWallet } from '../../server/test/fixtures/people/wallet-clients.ts'
import {
  daySettings,
  forge,
  ipv4Network,
  isMinted,
  measureNetwork,
  openPassedSession,
  singleAddress,
} from '../src/families/day.ts'

const model = await makeAttestedModel()
after(() => model.close())
const harness = await startHarness({
  ...daySettings,
  ...model.settings,
  ONCHAIN_REGISTRIES: '84532=0x00000000000000000000000000000000000a2e4a',
})
const live = await registerConfirmedAgent(harness, 'live', 'dev@script.example')
const call = (path: string, body: unknown, { apiKey } = live) =>
  harness.call('POST', `/api/${path}`, { key: apiKey, body })
const claimsOf = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>
const assuranceOf = (answer: { readonly json: { readonly pohf_jwt: string } }) =>
  claimsOf(answer.json.pohf_jwt)['assurance']

test('a script that enrols with a passkey in software gets personhood and presence at low', async () => {
  const { memberId } = await enrolMember(harness, live)
  const personhood = await call('agents/verify-personhood', { memberId })
  assert.equal(personhood.status, 200, personhood.text)
  assert.equal(assuranceOf(personhood), 'low')
  const photoHash = 'ab'.repeat(32)
  const submitted = await call('kinetic/submit', {
    memberId,
    source: 'geo_photo',
    lat: 48.1,
    lng: 11.5,
    photoHash,
  })
  assert.equal(submitted.status, 200, submitted.text)
  const presence = await call('agents/verify', { sessionId: submitted.json.sessionId })
  assert.equal(presence.status, 200, presence.text)
  assert.equal(assuranceOf(presence), 'low')
})

test('a script that enrols and proves a wallet gets no token for the chain, and is told why', async () => {
  const { memberId } = await enrolMember(harness, live)
  const minted = await makeWalletClients(harness).ask(live.apiKey, memberId, newWallet())
  assert.equal(minted.onchain, undefined)
  assert.equal(minted.onchainRefused, 'assurance_too_low')
  assert.equal(typeof claimsOf(minted.pohf_jwt)['wallet'], 'string', 'the claim of the wallet stays')
})

test('an app that an agent names for itself raises nothing until an operator admits it', async () => {
  const appId = 'TEAM012345.example.script'
  const named = await harness.call('PATCH', '/api/agents/me', {
    key: live.apiKey,
    body: { attestation: { appAttest: { appIds: [appId] } } },
  })
  assert.equal(named.status, 200, named.text)
  const session = await openPassedSession(harness, { site: live, address: ipv4Network(2).addressAt(0) })
  assert.ok('sessionId' in session)
  const { sessionId } = session
  const asked = await call('agents/attest/challenge', { subjectRef: sessionId })
  const { nonce, challengeB64url } = asked.json as { nonce: string; challengeB64url: string }
  const device = await makeAppDevice()
  const attestation = await makeAppAttestation(device, {
    root: model.root,
    intermediate: model.intermediate,
    appId,
    clientDataHash: sha256(challengeB64url),
  })
  const attested = await call('agents/attest/verify', {
    method: 'app_attest',
    nonce,
    subjectRef: sessionId,
    evidence: {
      keyId: device.keyId.toString('base64'),
      attestationObject: attestation.toString('base64'),
    },
  })
  assert.deepEqual([attested.json.attested, attested.json.reason], [true, 'app_not_admitted'], attested.text)
  const verified = await call('agents/verify', { sessionId })
  assert.equal(verified.status, 200, verified.text)
  assert.equal(assuranceOf(verified), 'low')
})

/** Two sites, for one gets no more than half of a network's budget. */
const registerSites = async () => {
  const sites = [
    await registerConfirmedAgent(harness, 'live', 'dev@first.example'),
    await registerConfirmedAgent(harness, 'live', 'dev@second.example'),
  ] as const
  for (const site of sites) await grantCredits(harness, site, 1_000n)
  return sites
}

test('one address gives 30 credentials in a clock hour and 100 in a UTC day, and the rest is refused uncharged', async () => {
  const sites = await registerSites()
  const address = singleAddress(ipv4Network(0))
  const ask = async (from: string) => {
    for (const site of sites) if (isMinted(await forge(harness, { site, address: from }))) return true
    return false
  }
  const balanceOf = async ({ apiKey }: (typeof sites)[number]): Promise<number> => {
    const { json } = await harness.call('GET', '/api/agents/credits/balance', { key: apiKey })
    return Number(json.balance) + Number(json.freeRemaining)
  }
  const before = (await Promise.all(sites.map(balanceOf))).reduce((sum, each) => sum + each, 0)
  const capacity = await measureNetwork(harness, address, ask, 150)
  assert.deepEqual(capacity, { perHour: 30, perDay: 100, isLimited: true })
  const spent = before - (await Promise.all(sites.map(balanceOf))).reduce((sum, each) => sum + each, 0)
  assert.equal(spent, 100, 'a refused call costs nothing')
  assert.deepEqual(await forge(harness, { site: sites[0], address: address.addressAt(0) }), {
    refused: 'network_busy',
  })
})

test('one site takes no more than half of the budget of an address', async () => {
  const [site, other] = await registerSites()
  const address = singleAddress(ipv4Network(1))
  const ask = async (from: string) => isMinted(await forge(harness, { site, address: from }))
  const capacity = await measureNetwork(harness, address, ask, 150)
  assert.deepEqual(capacity, { perHour: 15, perDay: 50, isLimited: true })
  assert.ok(isMinted(await forge(harness, { site: other, address: address.addressAt(0) })))
})

test('one authenticator that makes a key for each act gets 60 credentials a day on one address', async () => {
  const sites = await registerSites()
  let asked = 0
  const ask = async (address: string) => {
    const site = sites[asked++ % 2] ?? sites[0]
    return isMinted(
      await forge(harness, { site, address, key: openSecurityKey(harness, model) }),
      'substantial',
    )
  }
  const capacity = await measureNetwork(harness, singleAddress(ipv4Network(3)), ask, 70)
  assert.deepEqual(capacity, { perHour: 60, perDay: 60, isLimited: true })
})
