import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import type { Address, Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { compile, deployRegistry, startChain, type Chain, type Registry } from '@pohf/chain'
import { isHigh, makeIssuer, order, textOf, highSTwin, word, type Claims } from './issuer.ts'

const day = 86_400
const forks = [
  { name: 'the newest fork, P-256 by EIP-7951', options: {} },
  { name: 'OP stack, P-256 by RIP-7212', options: { optimism: true } },
  { name: 'prague, P-256 in Solidity', options: { hardfork: 'prague' } },
]

type RegistryFixture = {
  readonly chain: Chain
  readonly registry: Registry
  readonly issuer: ReturnType<typeof makeIssuer>
  /** The time of the chain. */
  readonly now: () => Promise<number>
}
/** A registry of its own that believes one key. */
const makeRegistryFixture = async (chain: Chain, code?: Hex): Promise<RegistryFixture> => {
  const registry = await deployRegistry(chain, code)
  const issuer = makeIssuer()
  const now = async () => {
    const block = (await chain.rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: Hex }
    return Number(block.timestamp)
  }
  assert.equal(typeof (await registry.addKey(issuer.jwk, (await now()) + 400 * day)), 'number')
  return { chain, registry, issuer, now }
}
const advanceTime = async ({ chain }: RegistryFixture, seconds: number): Promise<void> => {
  await chain.rpc('evm_increaseTime', [seconds])
  await chain.rpc('anvil_mine', ['0x1'])
}
let made = 0
const newNullifier = (): Hex => word(BigInt(++made))
const newWallet = (): Address => privateKeyToAccount(generatePrivateKey()).address
const claimsFor = async (
  world: RegistryFixture,
  wallet: Address,
  change: Partial<Claims> = {},
): Promise<Claims> => {
  const iat = (await world.now()) - 1_000
  return { wallet: wallet.toLowerCase(), nul: newNullifier(), iat, exp: iat + 90 * day, ...change }
}
/** Bound, and the gas that it took is all that is known of it. */
const assertBound = (outcome: number | string): void =>
  assert.equal(typeof outcome, 'number', String(outcome))

/** One attack each: what a true registry answers, and what one without the guard would let happen. */
type Attack = (world: RegistryFixture) => Promise<number | string>
const attacks = {
  'the signature of another key': async (world) => {
    const claims = await claimsFor(world, newWallet())
    const { payload, keyId } = world.issuer.sign(claims)
    return world.registry.bind({ ...makeIssuer().sign(claims), payload, keyId })
  },
  'a key that nobody added': async (world) => {
    const stranger = makeIssuer()
    return world.registry.bind(stranger.sign(await claimsFor(world, newWallet())))
  },
  'a revoked key': async (world) => {
    const token = world.issuer.sign(await claimsFor(world, newWallet()))
    assertBound(await world.registry.revokeKey(world.issuer.jwk.kid))
    return world.registry.bind(token)
  },
  'a key past its time': async (world) => {
    const old = makeIssuer()
    assertBound(await world.registry.addKey(old.jwk, (await world.now()) + 100))
    const token = old.sign(await claimsFor(world, newWallet()))
    await advanceTime(world, 200)
    return world.registry.bind(token)
  },
  'an expired token': async (world) => {
    const token = world.issuer.sign(await claimsFor(world, newWallet(), { exp: await world.now() }))
    return world.registry.bind(token)
  },
  'a token from the future': async (world) =>
    world.registry.bind(
      world.issuer.sign(await claimsFor(world, newWallet(), { iat: 9_000_000_000, exp: 9_900_000_000 })),
    ),
  'the same token again': async (world) => {
    const token = world.issuer.sign(await claimsFor(world, newWallet()))
    assertBound(await world.registry.bind(token))
    return world.registry.bind(token)
  },
  'the wallet before, by its older token': async (world) => {
    const before = await claimsFor(world, newWallet())
    const after = { ...before, wallet: newWallet().toLowerCase(), iat: before.iat + 1 }
    assertBound(await world.registry.bind(world.issuer.sign(before)))
    assertBound(await world.registry.bind(world.issuer.sign(after)))
    return world.registry.bind(world.issuer.sign(before))
  },
  'a human who was put out, by a token from before': async (world) => {
    const claims = await claimsFor(world, newWallet())
    assertBound(await world.registry.bind(world.issuer.sign(claims)))
    assertBound(await world.registry.revoke(claims.nul as Hex))
    return world.registry.bind(world.issuer.sign({ ...claims, iat: claims.iat + 1 }))
  },
  'the living wallet of another human': async (world) => {
    const wallet = newWallet()
    assertBound(await world.registry.bind(world.issuer.sign(await claimsFor(world, wallet))))
    return world.registry.bind(world.issuer.sign(await claimsFor(world, wallet)))
  },
  'a test token under a key that was added by mistake': async (world) => {
    const claims = await claimsFor(world, newWallet())
    return world.registry.bind(
      world.issuer.signText(JSON.stringify({ test: true, ...claims, iss: 'https://pohf.example/test' })),
    )
  },
  'the wallet of a contract on another chain': async (world) =>
    world.registry.bind(world.issuer.sign(await claimsFor(world, newWallet(), { chain: 8_453 }))),
  'a human without a code': async (world) =>
    world.registry.bind(world.issuer.sign(await claimsFor(world, newWallet(), { nul: word(0n) }))),
  'a key that is no point of the curve': ({ registry }) => {
    const { kid, x } = makeIssuer().jwk
    return registry.addKey({ kid, x, y: x }, 4_000_000_000)
  },
  'a key twice': ({ registry, issuer }) => registry.addKey(issuer.jwk, 4_000_000_000),
  'a key that a stranger adds': ({ registry, chain }) =>
    registry.addKey(makeIssuer().jwk, 4_000_000_000, chain.buyer),
  'a key that a stranger revokes': ({ registry, issuer, chain }) =>
    registry.revokeKey(issuer.jwk.kid, chain.buyer),
  'a human whom a stranger puts out': ({ registry, chain }) => registry.revoke(newNullifier(), chain.buyer),
} as const satisfies Record<string, Attack>

const answers: Readonly<Record<keyof typeof attacks, string>> = {
  'the signature of another key': 'BadSignature',
  'a key that nobody added': 'UnknownKey',
  'a revoked key': 'KeyIsRevoked',
  'a key past its time': 'KeyIsOver',
  'an expired token': 'Expired',
  'a token from the future': 'FromFuture',
  'the same token again': 'Stale',
  'the wallet before, by its older token': 'Stale',
  'a human who was put out, by a token from before': 'Stale',
  'the living wallet of another human': 'WalletTaken',
  'a test token under a key that was added by mistake': 'BadClaims',
  'the wallet of a contract on another chain': 'WrongChain',
  'a human without a code': 'BadClaims',
  'a key that is no point of the curve': 'BadKey',
  'a key twice': 'KeyKnown',
  'a key that a stranger adds': 'OwnableUnauthorizedAccount',
  'a key that a stranger revokes': 'OwnableUnauthorizedAccount',
  'a human whom a stranger puts out': 'OwnableUnauthorizedAccount',
}
const named = Object.entries(attacks) as [keyof typeof attacks, Attack][]

for (const fork of forks) {
  const chain = await startChain(fork.options)
  after(() => chain?.stop())
  const onChain = (name: string, body: (world: RegistryFixture) => Promise<void>): void =>
    void test(
      `${name} (${fork.name})`,
      { skip: chain ? false : 'npm has no anvil for this system' },
      async () => {
        assert.ok(chain)
        await body(await makeRegistryFixture(chain))
      },
    )

  onChain('anyone binds a wallet, and only that wallet is a human’s', async (world) => {
    const wallet = newWallet()
    const claims = await claimsFor(world, wallet)
    assert.equal(await world.registry.isVerifiedHuman(wallet), false)
    assertBound(await world.registry.bind(world.issuer.sign(claims), world.chain.buyer))
    assert.equal(await world.registry.isVerifiedHuman(wallet), true)
    assert.equal(await world.registry.humanOf(wallet), claims.nul)
    for (const other of [newWallet(), world.chain.buyer.address, `0x${'00'.repeat(20)}` as const])
      assert.equal(await world.registry.isVerifiedHuman(other), false)
  })

  onChain('either value of s is taken, and the twin of a signature gives no second go', async (world) => {
    const seen = { high: 0, low: 0 }
    for (let round = 0; round < 12 || seen.high === 0 || seen.low === 0; round++) {
      const token = world.issuer.sign(await claimsFor(world, newWallet()))
      const given = round % 2 === 0 ? token : highSTwin(token)
      seen[isHigh(given) ? 'high' : 'low'] += 1
      assertBound(await world.registry.bind(given))
      assert.equal(await world.registry.bind(highSTwin(given)), 'Stale')
    }
  })

  onChain(
    'a payload that was cut, lengthened or changed by one bit, and odd numbers, are no signature',
    async (world) => {
      const token = world.issuer.sign(await claimsFor(world, newWallet()))
      const { payload, r, s } = token
      const swap = (at: number) =>
        `${payload.slice(0, at)}${payload[at] === 'A' ? 'B' : 'A'}${payload.slice(at + 1)}`
      const bad = {
        cut: { ...token, payload: payload.slice(0, -1) },
        'cut to the claims': { ...token, payload: payload.slice(0, 252) },
        empty: { ...token, payload: '' },
        longer: { ...token, payload: `${payload}A` },
        padded: { ...token, payload: `${payload}=` },
        'another wallet': { ...token, payload: swap(20) },
        'another human': { ...token, payload: swap(100) },
        'another time': { ...token, payload: swap(190) },
        'another end': { ...token, payload: swap(210) },
        'with the header in it': { ...token, payload: `x.${payload}` },
        'r of zero': { ...token, r: word(0n) },
        's of zero': { ...token, s: word(0n) },
        's of the order': { ...token, s: word(order) },
        's above the order': { ...token, s: word(order + 1n) },
        's of all ones': { ...token, s: word(2n ** 256n - 1n) },
        'r and s exchanged': { ...token, r: s, s: r },
      }
      for (const [name, forged] of Object.entries(bad))
        assert.equal(await world.registry.bind(forged), 'BadSignature', name)
      assertBound(await world.registry.bind(token))
    },
  )

  for (const [name, attack] of named)
    onChain(`refused: ${name}`, async (world) => assert.equal(await attack(world), answers[name]))

  onChain(
    'claims that are not written as agreed are refused, though the issuer signed them',
    async (world) => {
      const claims = await claimsFor(world, newWallet())
      const good = textOf(claims)
      const texts = {
        'a space more': good.replace('{', '{ '),
        'another order': JSON.stringify({
          nul: claims.nul,
          wallet: claims.wallet,
          iat: claims.iat,
          exp: claims.exp,
        }),
        'a wallet in capitals': good.replace(claims.wallet, `0x${claims.wallet.slice(2, -1).toUpperCase()}F`),
        'a colon among digits': good.replace(claims.wallet, `${claims.wallet.slice(0, -1)}:`),
        'a quote among digits': good.replace(claims.nul, `${claims.nul.slice(0, -1)}"`),
        'a time of nine digits': good.replace(String(claims.iat), '123456789'),
        'a time with a point': good.replace(String(claims.iat), '12345678.9'),
        'a negative time': good.replace(String(claims.iat), '-123456789'),
        'nothing after the end': `${good.slice(0, 163)}}`,
        'cut in the middle': good.slice(0, 100),
        'a long string before': JSON.stringify({ iss: 'x'.repeat(300), ...claims }),
        'a chain of no number': good.replace('"iss"', '"chain":1e3,"iss"'),
        nothing: '{}',
      }
      for (const [name, text] of Object.entries(texts)) {
        assert.notEqual(text, good, name)
        assert.equal(await world.registry.bind(world.issuer.signText(text)), 'BadClaims', name)
      }
      assertBound(await world.registry.bind(world.issuer.signText(good)))
    },
  )

  onChain(
    'a human has one wallet: a newer token renews or moves it, and the old wallet is out',
    async (world) => {
      const [first, second] = [newWallet(), newWallet()]
      const claims = await claimsFor(world, first)
      assertBound(await world.registry.bind(world.issuer.sign(claims)))
      assertBound(await world.registry.bind(world.issuer.sign({ ...claims, iat: claims.iat + 1 })))
      assert.equal(await world.registry.isVerifiedHuman(first), true)
      const moved = { ...claims, wallet: second.toLowerCase(), iat: claims.iat + 2 }
      assertBound(await world.registry.bind(world.issuer.sign(moved)))
      assert.deepEqual(
        [await world.registry.isVerifiedHuman(first), await world.registry.isVerifiedHuman(second)],
        [false, true],
      )
      assert.equal(await world.registry.humanOf(second), claims.nul)
      // The wallet that was left is free for somebody else.
      assertBound(await world.registry.bind(world.issuer.sign(await claimsFor(world, first))))
      assert.equal(await world.registry.isVerifiedHuman(first), true)
    },
  )

  onChain(
    'a wallet is a human’s until the very second of the token’s end, then free for another',
    async (world) => {
      const wallet = newWallet()
      const claims = await claimsFor(world, wallet, { exp: (await world.now()) + 500 })
      assertBound(await world.registry.bind(world.issuer.sign(claims)))
      await world.chain.rpc('evm_setNextBlockTimestamp', [claims.exp - 1])
      await world.chain.rpc('anvil_mine', ['0x1'])
      assert.equal(await world.registry.isVerifiedHuman(wallet), true)
      await advanceTime(world, 1)
      assert.equal(await world.registry.isVerifiedHuman(wallet), false)
      const other = await claimsFor(world, wallet)
      assertBound(await world.registry.bind(world.issuer.sign(other)))
      assert.equal(await world.registry.humanOf(wallet), other.nul)
      // The first human comes back with another wallet, and the second keeps theirs.
      const back = { ...claims, wallet: newWallet().toLowerCase(), iat: claims.iat + 1, exp: other.exp }
      assertBound(await world.registry.bind(world.issuer.sign(back)))
      assert.equal(await world.registry.humanOf(wallet), other.nul)
    },
  )

  onChain('a key that is over binds no more, and what it bound lasts', async (world) => {
    const wallet = newWallet()
    assertBound(
      await world.registry.bind(
        world.issuer.sign(await claimsFor(world, wallet, { exp: (await world.now()) + 500 * day })),
      ),
    )
    await advanceTime(world, 401 * day)
    assert.equal(await world.registry.isVerifiedHuman(wallet), true)
    const token = world.issuer.sign(await claimsFor(world, newWallet()))
    assert.equal(await world.registry.bind(token), 'KeyIsOver')
    const next = makeIssuer()
    assertBound(await world.registry.addKey(next.jwk, (await world.now()) + day))
    assertBound(await world.registry.bind(next.sign(await claimsFor(world, newWallet()))))
  })

  onChain('a revoked key takes its records with it, and a thief’s token outdates nobody', async (world) => {
    const [mine, thiefs] = [newWallet(), newWallet()]
    const stolen = makeIssuer()
    assertBound(await world.registry.addKey(stolen.jwk, 4_000_000_000))
    const claims = await claimsFor(world, mine)
    assertBound(await world.registry.bind(world.issuer.sign(claims)))
    const theft = {
      ...claims,
      wallet: thiefs.toLowerCase(),
      iat: (await world.now()) + 3_000,
      exp: 9_999_999_999,
    }
    assertBound(await world.registry.bind(stolen.sign(theft)))
    const later = world.issuer.sign({ ...claims, iat: claims.iat + 1 })
    assert.equal(await world.registry.bind(later), 'Stale')
    assertBound(await world.registry.revokeKey(stolen.jwk.kid))
    assert.equal(await world.registry.isVerifiedHuman(thiefs), false)
    assert.equal(await world.registry.bind(stolen.sign({ ...theft, iat: theft.iat + 1 })), 'KeyIsRevoked')
    assertBound(await world.registry.bind(later))
    assert.equal(await world.registry.isVerifiedHuman(mine), true)
  })

  onChain(
    'a human who is put out is out at once, and back only by a token from afterwards',
    async (world) => {
      const wallet = newWallet()
      const claims = await claimsFor(world, wallet)
      assertBound(await world.registry.bind(world.issuer.sign(claims)))
      assertBound(await world.registry.revoke(claims.nul as Hex))
      assert.equal(await world.registry.isVerifiedHuman(wallet), false)
      assert.equal(
        await world.registry.bind(world.issuer.sign({ ...claims, iat: await world.now() })),
        'Stale',
      )
      // The issuer's clock may be ahead of the chain's.
      const early = { ...(await claimsFor(world, newWallet())), iat: (await world.now()) + 600 }
      assertBound(await world.registry.bind(world.issuer.sign(early)))
      assertBound(await world.registry.revoke(early.nul as Hex))
      assert.equal(await world.registry.bind(world.issuer.sign(early)), 'Stale')
      // Not even where a stolen key, revoked since, had bound them in between.
      const stolen = makeIssuer()
      assertBound(await world.registry.addKey(stolen.jwk, 4_000_000_000))
      assertBound(await world.registry.bind(stolen.sign({ ...claims, iat: (await world.now()) + 1 })))
      assertBound(await world.registry.revokeKey(stolen.jwk.kid))
      assert.equal(await world.registry.bind(world.issuer.sign({ ...claims, iat: claims.iat + 1 })), 'Stale')
      assertBound(await world.registry.bind(world.issuer.sign({ ...claims, iat: (await world.now()) + 1 })))
      assert.equal(await world.registry.isVerifiedHuman(wallet), true)
    },
  )

  onChain('the wallet of a contract is bound on its own chain', async (world) => {
    const wallet = newWallet()
    assertBound(
      await world.registry.bind(world.issuer.sign(await claimsFor(world, wallet, { chain: 84_532 }))),
    )
    assert.equal(await world.registry.isVerifiedHuman(wallet), true)
  })

  onChain('the owner hands over in two steps, and a key stands under its thumbprint', async (world) => {
    const { registry, chain, issuer } = world
    assert.equal(await registry.numberOf(issuer.jwk.kid), 1)
    assert.equal(await registry.revokeKey(makeIssuer().jwk.kid), 'UnknownKey')
    assertBound(await registry.transferOwnership(chain.buyer.address))
    assert.equal(await registry.owner(), chain.owner.address)
    assert.equal(await registry.acceptOwnership(chain.payTo), 'OwnableUnauthorizedAccount')
    assertBound(await registry.acceptOwnership(chain.buyer))
    assert.equal(await registry.revokeKey(issuer.jwk.kid), 'OwnableUnauthorizedAccount')
    assertBound(await registry.revokeKey(issuer.jwk.kid, chain.buyer))
  })
}

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
    'if (_number(text, 172, end - 172, 10) != block.chainid) revert WrongChain();',
    'the wallet of a contract on another chain',
  ],
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
test('each guard is needed: without it its attack succeeds', { timeout: 170_000 }, async (t) => {
  const chain = await startChain()
  if (!chain) return t.skip('npm has no anvil for this system')
  try {
    for (const [guard, name, instead = ''] of guards) {
      assert.equal(source.split(guard).length, 2, `the registry has this guard once: ${guard}`)
      const weak = compile(source.replace(guard, instead))['HumanRegistry']
      const attack: Attack = attacks[name]
      assert.equal(typeof (await attack(await makeRegistryFixture(chain, weak?.bytecode))), 'number', name)
    }
    t.diagnostic(`${guards.length} guards were taken away, one at a time`)
  } finally {
    await chain.stop()
  }
})
