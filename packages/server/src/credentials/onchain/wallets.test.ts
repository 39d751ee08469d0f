import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { compile, startChain } from '@pohf/chain'
import { decodeJwt } from 'jose'
import { encodeAbiParameters, type Address } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { startHarness } from '../../../test/fixtures/harness.ts'

/** A fake RPC node; each test sets its responses. */
const behaviour: { answer: (body: string) => { status: number; body: string } | undefined } = {
  answer: () => undefined,
}
const faulty = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => (body += chunk.toString()))
  request.on('end', () => {
    const answer = behaviour.answer(body)
    if (answer) response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
  })
})
await new Promise<void>((resolve) => faulty.listen(0, '127.0.0.1', resolve))
after(() => {
  faulty.closeAllConnections()
  faulty.close()
})
const faultyUrl = `http://127.0.0.1:${(faulty.address() as AddressInfo).port}`

const chainId = 84_532
const chain = await startChain({ chainId })
after(() => chain?.stop())
const harness = await startHarness({
  EVM_RPC_URLS: `${chain ? `${chainId}=${chain.url},10=${chain.url},` : ''}7=${faultyUrl},8=http://127.0.0.1:9`,
})
const agent = await harness.register('test')
const owner = privateKeyToAccount(generatePrivateKey())
const stranger = privateKeyToAccount(generatePrivateKey())

const challenge = async (body: object) => {
  const { status, json } = await harness.call('POST', '/api/agents/wallet/challenge', {
    key: agent.apiKey,
    body,
  })
  assert.equal(status, 200)
  return json as { nonce: string; message: string }
}
let members = 0
const bind = (body: object, key = agent.apiKey) =>
  harness.call('POST', '/api/agents/verify-personhood', {
    key,
    body: { memberId: `member-${members++}`, ...body },
  })
const claimsOf = (jwt: string) => decodeJwt(jwt) as Record<string, unknown>
const boundEvents = async () => {
  const { rows } = await harness.owner.query(
    "select data from events where type = 'personhood.wallet_bound' order by event_id",
  )
  return rows.map((row) => row.data as Record<string, unknown>)
}

test('every changed line of the signed text is refused, and the true one still binds', async () => {
  const asked = { wallet: owner.address, chainId, memberId: 'mia' }
  const { nonce, message } = await challenge(asked)
  const mutations: Record<string, string> = {
    domain: message.replace(/^\S+/, 'evil.example'),
    address: message.replace(owner.address, stranger.address),
    'address in lower case': message.replace(owner.address, owner.address.toLowerCase()),
    statement: message.replace('verified human', 'verified humans'),
    member: message.replace('mia', 'eve'),
    agent: message.replace(agent.agentId, `${agent.agentId}x`),
    uri: message.replace(/URI: .*/, 'URI: https://evil.example'),
    version: message.replace('Version: 1', 'Version: 2'),
    'chain id': message.replace(`Chain ID: ${chainId}`, 'Chain ID: 1'),
    nonce: message.replace(nonce, `${nonce}0`),
    'issued at': message.replace(/Issued At: .*/, 'Issued At: 2020-01-01T00:00:00.000Z'),
    'expiration time': message.replace(/Expiration Time: .*/, 'Expiration Time: 2099-01-01T00:00:00.000Z'),
    'a line more': `${message}\nResources:\n- https://evil.example`,
    'a line less': message.split('\n').slice(0, -1).join('\n'),
    'lines swapped': message.split('\n').toReversed().join('\n'),
    'a space at the end': `${message} `,
    'a newline at the end': `${message}\n`,
    'other line ends': message.replaceAll('\n', '\r\n'),
    'nothing at all': '',
  }
  assert.ok(Object.keys(mutations).length >= 12)
  for (const [name, text] of Object.entries(mutations)) {
    assert.notEqual(text, message, name)
    const answer = await bind({
      memberId: 'mia',
      wallet: owner.address,
      walletSig: await owner.signMessage({ message: text }),
      walletNonce: nonce,
    })
    assert.equal(answer.status, 400, name)
    assert.equal(answer.json.error, 'wallet_signature_invalid', name)
  }
  const good = await bind({
    memberId: 'mia',
    wallet: owner.address,
    walletSig: await owner.signMessage({ message }),
    walletNonce: nonce,
  })
  assert.equal(good.status, 200, good.text)
  const claims = claimsOf(good.json.pohf_jwt)
  assert.equal(claims['wallet'], owner.address)
  assert.equal(claims['wallet_type'], 'eoa')
  assert.equal(claims['wallet_chain'], undefined)
  assert.deepEqual((await boundEvents()).at(-1), {
    memberId: 'mia',
    credentialId: good.json.credentialId,
    wallet: owner.address,
    chainId,
  })
})

test('a wallet with its own key needs no chain, even when the node is down', async () => {
  for (const id of [8, 7, 999]) {
    const { nonce, message } = await challenge({ wallet: owner.address, chainId: id })
    const walletSig = await owner.signMessage({ message })
    assert.equal((await bind({ wallet: owner.address, walletSig, walletNonce: nonce })).status, 200)
  }
})

const source = `// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.0;
contract Owned {
  address immutable owner;
  constructor(address of_) { owner = of_; }
  function isValidSignature(bytes32 hash, bytes calldata sig) external view returns (bytes4) {
    if (sig.length != 65) return 0xffffffff;
    bytes32 r = bytes32(sig[0:32]);
    bytes32 s = bytes32(sig[32:64]);
    return ecrecover(hash, uint8(sig[64]), r, s) == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }
}
contract Reverts { function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) { revert("no"); } }
contract Burns { function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) { uint x; while (true) { x = uint(keccak256(abi.encode(x))); } return 0x1626ba7e; } }
contract Breaks { function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) { assembly { invalid() } } }
contract Silent { fallback() external {} }
contract SaysTrue { function isValidSignature(bytes32, bytes calldata) external pure returns (bool) { return true; } }
contract Chatty { function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4, bytes32) { return (0x1626ba7e, bytes32(uint(1))); } }
contract Misplaced { function isValidSignature(bytes32, bytes calldata) external pure returns (uint) { return 0x1626ba7e; } }`

const contracts = compile(source)
type TestChain = NonNullable<typeof chain>
const deploy = async (here: TestChain, name: string, of?: Address): Promise<Address> => {
  const parameters = of === undefined ? '0x' : encodeAbiParameters([{ type: 'address' }], [of])
  return (await here.deploy(contracts[name]?.bytecode ?? '0x', parameters)).address
}
const testOnChain = (name: string, body: (here: TestChain) => Promise<void>): void =>
  void test(name, { skip: chain ? false : 'npm has no anvil for this system' }, async () => {
    assert.ok(chain)
    await body(chain)
  })

testOnChain(
  'a contract confirms its wallet: a confirmation binds; a rejection, a revert and any other answer do not',
  async (here) => {
    const sign = async (wallet: string, by = owner) => {
      const { nonce, message } = await challenge({ wallet, chainId })
      return { wallet, walletSig: await by.signMessage({ message }), walletNonce: nonce }
    }
    const own = await deploy(here, 'Owned', owner.address)
    const answer = await bind({ memberId: 'contract', ...(await sign(own)) })
    assert.equal(answer.status, 200, answer.text)
    const claims = claimsOf(answer.json.pohf_jwt)
    assert.equal(String(claims['wallet']).toLowerCase(), own.toLowerCase())
    assert.equal(claims['wallet_type'], 'contract')
    assert.equal(claims['wallet_chain'], chainId)
    assert.equal((await boundEvents()).at(-1)?.['chainId'], chainId)

    const proof = await sign(own)
    assert.equal((await bind(await sign(own, stranger))).json.error, 'wallet_signature_invalid')
    assert.equal((await bind({ ...proof, walletSig: '0x123' })).json.error, 'wallet_signature_invalid')
    assert.equal(
      (await bind({ ...proof, walletSig: `0x${'ab'.repeat(4_000)}` })).json.error,
      'wallet_signature_invalid',
    )
    assert.equal((await bind(proof)).status, 200, 'a no uses nothing up')
    assert.equal((await bind(proof)).json.error, 'nonce_used')
    for (const name of ['Reverts', 'Burns', 'Breaks', 'Silent', 'SaysTrue', 'Chatty', 'Misplaced']) {
      const refused = await bind(await sign(await deploy(here, name)))
      assert.equal(refused.status, 400, `${name}: ${refused.text}`)
      assert.equal(refused.json.error, 'wallet_signature_invalid', name)
    }
    // An address without code, on a chain that answers: a key's wallet, and its key has not signed.
    assert.equal((await bind(await sign(stranger.address))).json.error, 'wallet_signature_invalid')
  },
)

testOnChain(
  'a contract is called only on the chain that the signed text names, and only a node of that chain counts',
  async (here) => {
    const own = await deploy(here, 'Owned', owner.address)
    const on = async (body: object) => {
      const { nonce, message } = await challenge(body)
      return bind({ wallet: own, walletSig: await owner.signMessage({ message }), walletNonce: nonce })
    }
    const wrongNode = await on({ wallet: own, chainId: 10 })
    assert.equal(wrongNode.status, 503)
    assert.equal(wrongNode.json.error, 'chain_unreachable')
    const unset = await on({ wallet: own, chainId: 137 })
    assert.equal(unset.status, 400)
    assert.match(unset.json.message, /chain 137 cannot be asked here/)
    const unnamed = await on({})
    assert.equal(unnamed.status, 400)
    assert.match(unnamed.json.message, /ask for the challenge with wallet and chainId/)
  },
)

testOnChain('a caller who cannot pay causes no call to a chain', async (here) => {
  const own = await deploy(here, 'Owned', owner.address)
  const poor = await harness.register('live')
  const { json } = await harness.call('POST', '/api/agents/wallet/challenge', {
    key: poor.apiKey,
    body: { wallet: own, chainId: 7 },
  })
  let heard = 0
  behaviour.answer = () => {
    heard += 1
    return { status: 500, body: '' }
  }
  const answer = await bind(
    { wallet: own, walletSig: await owner.signMessage({ message: json.message }), walletNonce: json.nonce },
    poor.apiKey,
  )
  assert.equal(answer.status, 402)
  assert.equal(heard, 0)
})

/** A batch of three RPC responses. */
const ids = (change: (id: number) => object): string =>
  JSON.stringify([0, 1, 2].map((id) => ({ jsonrpc: '2.0', id, ...change(id) })))

const yes = `0x1626ba7e${'0'.repeat(56)}`
const results = ['0x7', '0x6000', yes]
const faultyAnswers: Record<string, { status: number; body: string } | undefined> = {
  silence: undefined,
  'a server fault': { status: 500, body: ids((id) => ({ result: results[id] })) },
  'a redirect': { status: 302, body: '' },
  'no JSON': { status: 200, body: '<html>' },
  'one answer for three': { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: 0, result: yes }) },
  'too few answers': { status: 200, body: JSON.stringify([{ id: 0, result: '0x7' }]) },
  'another chain': { status: 200, body: ids((id) => ({ result: ['0x1', '0x6000', yes][id] })) },
  'no code known': {
    status: 200,
    body: ids((id) =>
      id === 1 ? { error: { code: -32_000, message: 'header not found' } } : { result: results[id] },
    ),
  },
  'a limit': {
    status: 200,
    body: ids((id) =>
      id === 2 ? { error: { code: -32_005, message: 'rate limited' } } : { result: results[id] },
    ),
  },
  'an internal fault': {
    status: 200,
    body: ids((id) =>
      id === 2 ? { error: { code: -32_603, message: 'internal error' } } : { result: results[id] },
    ),
  },
  'nothing said': { status: 200, body: ids((id) => (id === 2 ? {} : { result: results[id] })) },
  'too much said': {
    status: 200,
    body: ids((id) => ({ result: id === 2 ? `0x${'00'.repeat(200_000)}` : results[id] })),
  },
}

test('a node that is down, slow or answers wrongly is 503 and binds nothing; the same nonce works once it is back', async () => {
  const wallet = stranger.address
  const { nonce, message } = await challenge({ wallet, chainId: 7 })
  const proof = { wallet, walletSig: await owner.signMessage({ message }), walletNonce: nonce }
  for (const [name, answer] of Object.entries(faultyAnswers)) {
    behaviour.answer = () => answer
    const startedAt = performance.now()
    const refused = await bind(proof)
    assert.equal(refused.status, 503, `${name}: ${refused.text}`)
    assert.equal(refused.json.error, 'chain_unreachable', name)
    assert.ok(Number(refused.headers['retry-after']) > 0)
    // The limit is 2 s; the rest is the machine's.
    assert.ok(performance.now() - startedAt < 10_000, name)
  }
  behaviour.answer = () => ({
    status: 200,
    body: ids((id) =>
      id === 2 ? { error: { code: 3, message: 'execution reverted' } } : { result: results[id] },
    ),
  })
  assert.equal((await bind(proof)).json.error, 'wallet_signature_invalid')
  // Answers may come in any order.
  behaviour.answer = () => ({
    status: 200,
    body: JSON.stringify([2, 0, 1].map((id) => ({ jsonrpc: '2.0', id, result: results[id] }))),
  })
  const bound = await bind(proof)
  assert.equal(bound.status, 200, bound.text)
  assert.equal(claimsOf(bound.json.pohf_jwt)['wallet_chain'], 7)
  const dead = await challenge({ wallet, chainId: 8 })
  const unreached = await bind({
    wallet,
    walletSig: await owner.signMessage({ message: dead.message }),
    walletNonce: dead.nonce,
  })
  assert.equal(unreached.status, 503)
  assert.ok(!harness.lines.join('').includes(faultyUrl), 'the address of a node may hold a key')
})
