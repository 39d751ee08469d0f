import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { enrolProven, officeIssuer } from '../../../test/fixtures/people/outside-proof.ts'
import { makeWalletClients, newWallet, textOf } from '../../../test/fixtures/people/wallet-clients.ts'

const registryOn = { 10: `0x${'10'.repeat(20)}`, 8_453: `0x${'84'.repeat(20)}` } as const
const harness = await startHarness(
  { ONCHAIN_REGISTRIES: `10=${registryOn[10]}, 8453=${registryOn[8_453]}` },
  [officeIssuer],
)
const { mintWith } = makeWalletClients(harness)

/** Binds a new wallet under a challenge for this chain, or for none. */
const mintOn = async (agent: { apiKey: string }, memberId: string, chainId?: number) => {
  const wallet = newWallet()
  const challenge = await harness.call('POST', '/api/agents/wallet/challenge', {
    key: agent.apiKey,
    body: { wallet: wallet.address, memberId, ...(chainId === undefined ? {} : { chainId }) },
  })
  return mintWith(agent.apiKey, {
    memberId,
    wallet: wallet.address,
    walletSig: await wallet.signMessage({ message: challenge.json.message }),
    walletNonce: challenge.json.nonce,
  })
}

test('a token is for the registry on the chain of the challenge; without one there is none, and the reason is given', async () => {
  const live = await registerConfirmedAgent(harness, 'live', 'agent@example.com')
  const { memberId } = await enrolProven(harness, live)
  for (const chainId of [84_532, undefined]) {
    const minted = await mintOn(live, memberId, chainId)
    assert.equal(minted.onchain, undefined)
    assert.equal(minted.onchainRefused, 'no_registry')
  }
  for (const chainId of [10, 8_453] as const) {
    const { onchain } = await mintOn(live, memberId, chainId)
    assert.ok(onchain)
    const { registry, chain } = JSON.parse(textOf(onchain)) as { registry: string; chain: number }
    assert.deepEqual([registry, chain], [registryOn[chainId], chainId])
  }
})

test('a test key gets a token on every chain, which names no registry where there is none', async () => {
  const sandbox = await harness.register('test')
  const { onchain } = await mintOn(sandbox, 'mem_test_human', 84_532)
  assert.ok(onchain)
  const { registry, chain } = JSON.parse(textOf(onchain)) as { registry: string; chain: number }
  assert.deepEqual([registry, chain], [`0x${'00'.repeat(20)}`, 84_532])
})
