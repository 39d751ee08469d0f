import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { decodeJwt } from 'jose'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { makeAttestedModel } from '../../../test/fixtures/people/attested-model.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { addOutsideProof, officeIssuer } from '../../../test/fixtures/people/outside-proof.ts'
import { openSecurityKey } from '../../../test/fixtures/people/security-key.ts'
import { makeWalletClients, newWallet } from '../../../test/fixtures/people/wallet-clients.ts'

const model = await makeAttestedModel()
after(() => model.close())
const registry = { ONCHAIN_REGISTRIES: `84532=0x${'0a'.repeat(20)}` }

for (const [name, settings, tokens] of [
  ['by default', {}, { low: false, substantial: false, high: true }],
  [
    'where the operator says so',
    { ONCHAIN_MIN_ASSURANCE: 'substantial' },
    { low: false, substantial: true, high: true },
  ],
] as const)
  test(`a token for a chain needs the assurance of the setting, ${name}; the wallet claim stays`, async () => {
    const harness = await startHarness({ ...model.settings, ...registry, ...settings }, [officeIssuer])
    const live = await registerConfirmedAgent(harness, 'live', 'chain@example.com')
    const { memberId, browser } = await enrolMember(harness, live)
    const given: Record<string, boolean> = {}
    const ask = async () => {
      const minted = await makeWalletClients(harness).ask(live.apiKey, memberId, newWallet())
      const { wallet, assurance } = decodeJwt(minted.pohf_jwt)
      assert.equal(typeof wallet, 'string')
      assert.equal(minted.onchainRefused, minted.onchain ? undefined : 'assurance_too_low')
      given[String(assurance)] = minted.onchain !== undefined
    }
    await ask()
    const { rows } = await harness.owner.query('select from onchain_humans')
    assert.equal(rows.length, 0, 'a refused token takes no wallet')
    await openSecurityKey(harness, model).attest(live.apiKey, memberId)
    await ask()
    await addOutsideProof(browser)
    await harness.advance(1_000)
    await ask()
    assert.deepEqual(given, tokens)
  })
