import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createPublicClient, createWalletClient, http, parseSignature, toHex, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { compile, startChain, TestDollar, usdcAddress, type Chain } from '@pohf/chain'

const chain = await startChain()
after(() => chain?.stop())

const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
  CancelAuthorization: [
    { name: 'authorizer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const
const domain = { name: 'USDC', version: '2', chainId: 84_532, verifyingContract: usdcAddress } as const
const secp256k1Order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

let nonces = 0
const open = (here: Chain) => {
  const transport = http(here.url)
  const reader = createPublicClient({ transport, pollingInterval: 20 })
  const payer = privateKeyToAccount(here.buyer.privateKey)
  const anyone = createWalletClient({
    transport,
    account: privateKeyToAccount(here.gasAccounts[0].privateKey),
  })
  const at = { address: here.token, abi: TestDollar.abi } as const
  const authorize = async (change: { validAfter?: bigint; validBefore?: bigint; value?: bigint } = {}) => {
    const message = {
      from: payer.address,
      to: here.payTo.address,
      value: 5_000n,
      validAfter: 0n,
      validBefore: 4_000_000_000n,
      nonce: toHex(++nonces, { size: 32 }),
      ...change,
    }
    const signature = await payer.signTypedData({
      domain,
      types,
      primaryType: 'TransferWithAuthorization',
      message,
    })
    return { message, signature }
  }
  const argumentsOf = (message: Awaited<ReturnType<typeof authorize>>['message']) =>
    [message.from, message.to, message.value, message.validAfter, message.validBefore, message.nonce] as const
  /** By a stranger: an authorization is good in anyone's hands. */
  const settle = async (message: Awaited<ReturnType<typeof authorize>>['message'], signature: Hex) => {
    const { request } = await reader.simulateContract({
      ...at,
      account: anyone.account,
      functionName: 'transferWithAuthorization',
      args: [...argumentsOf(message), signature],
    })
    return reader.waitForTransactionReceipt({ hash: await anyone.writeContract({ ...request, chain: null }) })
  }
  const balance = (of: Hex) => reader.readContract({ ...at, functionName: 'balanceOf', args: [of] })
  const used = (nonce: Hex) =>
    reader.readContract({ ...at, functionName: 'authorizationState', args: [payer.address, nonce] })
  return { reader, payer, anyone, at, authorize, argumentsOf, settle, balance, used }
}

const onChain = (name: string, body: (here: Chain) => Promise<void>): void =>
  void test(name, { skip: chain ? false : 'npm has no anvil for this system' }, async () => {
    assert.ok(chain)
    await body(chain)
  })

onChain('the chain has the present time, the token at its address, and funded accounts', async (here) => {
  const { reader, balance } = open(here)
  const { timestamp } = await reader.getBlock()
  assert.ok(Math.abs(Number(timestamp) - Date.now() / 1_000) < 120, String(timestamp))
  assert.equal(await reader.getChainId(), 84_532)
  assert.equal(here.token, usdcAddress)
  assert.equal(await balance(here.buyer.address), 1_000_000_000n)
  for (const { address } of here.gasAccounts) assert.ok((await reader.getBalance({ address })) > 10n ** 18n)
})

onChain('an authorization pays once, in either form, with both events', async (here) => {
  const { at, anyone, reader, authorize, argumentsOf, settle, balance, used } = open(here)
  const before = await balance(here.payTo.address)
  const { message, signature } = await authorize()
  const receipt = await settle(message, signature)
  assert.equal(receipt.logs.length, 2)
  assert.equal(await balance(here.payTo.address), before + 5_000n)
  assert.equal(await used(message.nonce), true)
  await assert.rejects(settle(message, signature), /authorization is used or canceled/)

  const second = await authorize()
  const { r, s, yParity } = parseSignature(second.signature)
  const hash = await anyone.writeContract({
    ...at,
    chain: null,
    functionName: 'transferWithAuthorization',
    args: [...argumentsOf(second.message), 27 + yParity, r, s],
  })
  assert.equal((await reader.waitForTransactionReceipt({ hash })).status, 'success')
  assert.equal(await balance(here.payTo.address), before + 10_000n)
})

onChain(
  'what is not signed, not yet valid, over, unpaid or the other twin of a signature moves nothing',
  async (here) => {
    const { authorize, settle, balance, used } = open(here)
    const before = await balance(here.payTo.address)
    const { message, signature } = await authorize()
    await assert.rejects(settle({ ...message, value: 6_000n }, signature), /invalid signature/)
    await assert.rejects(settle({ ...message, to: here.owner.address }, signature), /invalid signature/)
    const { r, s, yParity } = parseSignature(signature)
    const twin = `${r}${toHex(secp256k1Order - BigInt(s), { size: 32 }).slice(2)}${(28 - yParity).toString(16)}`
    await assert.rejects(settle(message, twin as Hex), /invalid signature/)
    await assert.rejects(settle(message, `${signature}00`), /invalid signature/)
    assert.equal(await used(message.nonce), false)
    const late = await authorize({ validBefore: 1n })
    await assert.rejects(settle(late.message, late.signature), /authorization is expired/)
    const early = await authorize({ validAfter: 3_999_999_999n })
    await assert.rejects(settle(early.message, early.signature), /authorization is not yet valid/)
    const dear = await authorize({ value: 10n ** 12n })
    await assert.rejects(settle(dear.message, dear.signature), /transfer amount exceeds balance/)
    assert.equal(await used(dear.message.nonce), false)
    assert.equal(await balance(here.payTo.address), before)
    await settle(message, signature)
  },
)

onChain('a cancelled authorization pays no more', async (here) => {
  const { at, payer, anyone, reader, authorize, settle } = open(here)
  const { message, signature } = await authorize()
  const cancel = await payer.signTypedData({
    domain,
    types,
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.address, nonce: message.nonce },
  })
  const args = [payer.address, message.nonce, cancel] as const
  const hash = await anyone.writeContract({ ...at, chain: null, functionName: 'cancelAuthorization', args })
  assert.equal((await reader.waitForTransactionReceipt({ hash })).logs.length, 1)
  await assert.rejects(settle(message, signature), /authorization is used or canceled/)
})

onChain('a wallet that is a contract pays by its own word', async (here) => {
  const { reader, anyone, at, balance } = open(here)
  const yes = compile(
    'pragma solidity ^0.8.0; contract Yes { function isValidSignature(bytes32, bytes calldata s) external pure returns (bytes4) { return s.length == 97 ? bytes4(0x1626ba7e) : bytes4(0); } }',
  )['Yes']
  const { address } = await here.deploy(yes?.bytecode ?? '0x')
  await here.mint(address, 7n)
  const pay = (signature: Hex) =>
    reader.simulateContract({
      ...at,
      account: anyone.account,
      functionName: 'transferWithAuthorization',
      args: [address, here.payTo.address, 7n, 0n, 4_000_000_000n, toHex(1, { size: 32 }), signature],
    })
  await assert.rejects(pay(`0x${'00'.repeat(65)}`), /invalid signature/)
  const { request } = await pay(`0x${'00'.repeat(97)}`)
  await reader.waitForTransactionReceipt({ hash: await anyone.writeContract({ ...request, chain: null }) })
  assert.equal(await balance(address), 0n)
})

onChain('the lying token takes an authorization without a word and moves nothing', async (here) => {
  const { authorize, settle, balance, used } = open(here)
  await here.putToken('silent')
  const before = await balance(here.payTo.address)
  const { message, signature } = await authorize()
  const receipt = await settle(message, signature)
  assert.equal(receipt.status, 'success')
  assert.equal(receipt.logs.length, 0)
  assert.equal(await balance(here.payTo.address), before)
  assert.equal(await used(message.nonce), false)
  await here.putToken('honest')
  await settle(message, signature)
  assert.equal(await balance(here.payTo.address), before + 5_000n)
})

onChain('the signature of a stranger spends nothing', async (here) => {
  const { authorize, settle } = open(here)
  const { message } = await authorize()
  const stranger = privateKeyToAccount(generatePrivateKey())
  const signature = await stranger.signTypedData({
    domain,
    types,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  await assert.rejects(settle(message, signature), /invalid signature/)
})
