import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { compile, startChain } from '@pohf/chain'
import { attacks, type Attack } from './attacks.ts'
import { makeRegistryFixture } from './registry-fixture.ts'

const source = readFileSync(new URL('../contracts/HumanRegistry.sol', import.meta.url), 'utf8')
/** The registry without one of its guards, and the attack that then succeeds. */
const guards: readonly (readonly [guard: string, attack: keyof typeof attacks, instead?: string])[] = [
  [
    'if (!P256.verify(sha256(abi.encodePacked(key.header, ".", payload)), r, s, key.x, key.y)) revert BadSignature();',
    'the signature of another key',
  ],
  ['if (key.revoked) revert KeyIsRevoked();', 'a revoked key'],
  ['if (block.timestamp > key.notAfter) revert KeyIsOver();', 'a key past its time'],
  ['if (human.exp <= block.timestamp) revert Expired();', 'an expired token'],
  ['if (human.iat > block.timestamp + 1 hours) revert FromFuture();', 'a token from the future'],
  [
    'if (human.iat <= revokedAt[nullifier]) revert Stale();',
    'a human who was put out, by a token from before',
  ],
  ['if (human.iat <= known.iat && !keys[known.key].revoked) revert Stale();', 'the same token again'],
  [
    'if (human.iat <= known.iat && !keys[known.key].revoked) revert Stale();',
    'the wallet before, by its older token',
  ],
  ['if (holder != 0 && holder != nullifier) revert WalletTaken();', 'the living wallet of another human'],
  [
    'if (_number(text, 228, end - 228, 10) != block.chainid) revert WrongChain();',
    'a token for this address on another chain',
  ],
  [
    'if (_number(text, 178, 40, 16) != uint160(address(this))) revert WrongRegistry();',
    'a token for another registry',
  ],
  ['if (block.timestamp < key.notBefore) revert KeyIsNew();', 'a key that the owner has just added'],
  ['if (nullifier == 0) revert BadClaims();', 'a human without a code'],
  ['if (!P256.isValidPublicKey(x, y)) revert BadKey();', 'a key that is no point of the curve'],
  ['if (numberOf[keyId] != 0) revert KeyKnown();', 'a key twice'],
  [
    'bytes calldata header) external onlyOwner returns',
    'a key that a stranger adds',
    'bytes calldata header) external returns',
  ],
  [
    'revokeKey(bytes32 keyId) external onlyOwner',
    'a key that a stranger revokes',
    'revokeKey(bytes32 keyId) external',
  ],
  [
    'revoke(bytes32 nullifier) external onlyOwner',
    'a human whom a stranger puts out',
    'revoke(bytes32 nullifier) external',
  ],
]
/** Each compilation takes 1.5 s of CPU: CI tries some guards, `npm run battery -- planted` all of them. */
const tried = process.env['POHF_EVERY_GUARD'] === '1' ? guards : guards.filter((_, index) => index % 6 === 0)

test('each guard is needed: without it its attack succeeds', async (t) => {
  const chain = await startChain()
  if (!chain) return t.skip('npm has no anvil for this system')
  try {
    for (const [guard] of guards)
      assert.equal(source.split(guard).length, 2, `the registry has this guard once: ${guard}`)
    for (const [guard, name, instead = ''] of tried) {
      const weak = compile(source.replace(guard, instead))['HumanRegistry']
      const attack: Attack = attacks[name]
      assert.equal(typeof (await attack(await makeRegistryFixture(chain, weak?.bytecode))), 'number', name)
    }
    t.diagnostic(`${tried.length} guards were taken away, one at a time`)
  } finally {
    await chain.stop()
  }
})
