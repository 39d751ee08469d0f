import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { proveByKey } from './wallet.ts'

const challenge = { message: 'prove your wallet', chainId: null, contractChain: undefined }

test('a signature of a key has 65 bytes: one with half a byte less or more is refused', async () => {
  // With 28 as its last byte, the first half of it is 1, which means the same.
  let signature: `0x${string}`
  let account
  do {
    account = privateKeyToAccount(generatePrivateKey())
    signature = await account.signMessage(challenge)
  } while (!signature.endsWith('1c'))
  const wallet = account.address
  const prove = (walletSig: string) => proveByKey(challenge, { wallet, walletSig, walletNonce: '1' })
  assert.deepEqual(await prove(signature), { wallet, type: 'eoa', chainId: null })
  assert.deepEqual((await prove(`${signature.slice(0, -2)}01`))?.wallet, wallet, 'as some wallets write it')
  for (const changed of [signature.slice(0, -1), `${signature}0`, signature.slice(0, -2), signature.slice(2)])
    assert.equal(await prove(changed), undefined, changed)
})
