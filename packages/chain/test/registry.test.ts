import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startChain } from '@pohf/chain'
import type { Hex } from 'viem'
import { answers, namedAttacks } from './attacks.ts'
import { highSTwin, isHigh, makeIssuer, order, textOf, word } from './issuer.ts'
import {
  advanceTime,
  assertBound,
  addUsableKey,
  claimsFor,
  keyDelaySeconds,
  day,
  makeRegistryFixture,
  newWallet,
  type RegistryFixture,
} from './registry-fixture.ts'

const forks = [
  { name: 'the newest fork, P-256 by EIP-7951', options: {} },
  { name: 'OP stack, P-256 by RIP-7212', options: { optimism: true } },
  { name: 'prague, P-256 in Solidity', options: { hardfork: 'prague' } },
]

for (const fork of forks) {
  const chain = await startChain(fork.options)
  after(() => chain?.stop())
  const onChain = (name: string, body: (fixture: RegistryFixture) => Promise<void>): void =>
    void test(
      `${name} (${fork.name})`,
      { skip: chain ? false : 'npm has no anvil for this system' },
      async () => {
        assert.ok(chain)
        await body(await makeRegistryFixture(chain))
      },
    )

  onChain('anyone binds a wallet, and only that wallet is a human’s', async (fixture) => {
    const wallet = newWallet()
    const claims = await claimsFor(fixture, wallet)
    assert.equal(await fixture.registry.isVerifiedHuman(wallet), false)
    assertBound(await fixture.registry.bind(fixture.issuer.sign(claims), fixture.chain.buyer))
    assert.equal(await fixture.registry.isVerifiedHuman(wallet), true)
    assert.equal(await fixture.registry.humanOf(wallet), claims.nul)
    for (const other of [newWallet(), fixture.chain.buyer.address, `0x${'00'.repeat(20)}` as const])
      assert.equal(await fixture.registry.isVerifiedHuman(other), false)
  })

  onChain('either value of s is taken, and the twin of a signature gives no second go', async (fixture) => {
    const seen = { high: 0, low: 0 }
    for (let round = 0; round < 12 || seen.high === 0 || seen.low === 0; round++) {
      const token = fixture.issuer.sign(await claimsFor(fixture, newWallet()))
      const given = round % 2 === 0 ? token : highSTwin(token)
      seen[isHigh(given) ? 'high' : 'low'] += 1
      assertBound(await fixture.registry.bind(given))
      assert.equal(await fixture.registry.bind(highSTwin(given)), 'Stale')
    }
  })

  onChain(
    'a payload that was cut, lengthened or changed by one bit, and odd numbers, are no signature',
    async (fixture) => {
      const token = fixture.issuer.sign(await claimsFor(fixture, newWallet()))
      const { payload, r, s } = token
      const swap = (at: number) =>
        `${payload.slice(0, at)}${payload[at] === 'A' ? 'B' : 'A'}${payload.slice(at + 1)}`
      const bad = {
        cut: { ...token, payload: payload.slice(0, -1) },
        'cut to the claims': { ...token, payload: payload.slice(0, 328) },
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
        assert.equal(await fixture.registry.bind(forged), 'BadSignature', name)
      assertBound(await fixture.registry.bind(token))
    },
  )

  for (const [name, attack] of namedAttacks)
    onChain(`refused: ${name}`, async (fixture) => assert.equal(await attack(fixture), answers[name]))

  onChain(
    'claims that are not written as agreed are refused, though the issuer signed them',
    async (fixture) => {
      const claims = await claimsFor(fixture, newWallet())
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
        'no registry': good.replace(/"registry":"0x[0-9a-f]{40}",/, ''),
        'no chain': good.replace(/"chain":84532,/, ''),
        'a registry in capitals': good.replace(claims.registry, `0x${claims.registry.slice(2, -1)}F`),
        'cut in the middle': good.slice(0, 100),
        'a long string before': JSON.stringify({ iss: 'x'.repeat(300), ...claims }),
        'a chain of no number': good.replace('"chain":84532', '"chain":1e3'),
        nothing: '{}',
      }
      for (const [name, text] of Object.entries(texts)) {
        assert.notEqual(text, good, name)
        assert.equal(await fixture.registry.bind(fixture.issuer.signText(text)), 'BadClaims', name)
      }
      assertBound(await fixture.registry.bind(fixture.issuer.signText(good)))
    },
  )

  onChain(
    'a human has one wallet: a newer token renews or moves it, and the old wallet is out',
    async (fixture) => {
      const [first, second] = [newWallet(), newWallet()]
      const claims = await claimsFor(fixture, first)
      assertBound(await fixture.registry.bind(fixture.issuer.sign(claims)))
      assertBound(await fixture.registry.bind(fixture.issuer.sign({ ...claims, iat: claims.iat + 1 })))
      assert.equal(await fixture.registry.isVerifiedHuman(first), true)
      const moved = { ...claims, wallet: second.toLowerCase(), iat: claims.iat + 2 }
      assertBound(await fixture.registry.bind(fixture.issuer.sign(moved)))
      assert.deepEqual(
        [await fixture.registry.isVerifiedHuman(first), await fixture.registry.isVerifiedHuman(second)],
        [false, true],
      )
      assert.equal(await fixture.registry.humanOf(second), claims.nul)
      // The previous wallet is free for another human.
      assertBound(await fixture.registry.bind(fixture.issuer.sign(await claimsFor(fixture, first))))
      assert.equal(await fixture.registry.isVerifiedHuman(first), true)
    },
  )

  onChain(
    'a wallet is a human’s until the very second of the token’s end, then free for another',
    async (fixture) => {
      const wallet = newWallet()
      const claims = await claimsFor(fixture, wallet, { exp: (await fixture.now()) + 500 })
      assertBound(await fixture.registry.bind(fixture.issuer.sign(claims)))
      await fixture.chain.rpc('evm_setNextBlockTimestamp', [claims.exp - 1])
      await fixture.chain.rpc('anvil_mine', ['0x1'])
      assert.equal(await fixture.registry.isVerifiedHuman(wallet), true)
      await advanceTime(fixture, 1)
      assert.equal(await fixture.registry.isVerifiedHuman(wallet), false)
      const other = await claimsFor(fixture, wallet)
      assertBound(await fixture.registry.bind(fixture.issuer.sign(other)))
      assert.equal(await fixture.registry.humanOf(wallet), other.nul)
      // The first human comes back with another wallet, and the second keeps theirs.
      const back = { ...claims, wallet: newWallet().toLowerCase(), iat: claims.iat + 1, exp: other.exp }
      assertBound(await fixture.registry.bind(fixture.issuer.sign(back)))
      assert.equal(await fixture.registry.humanOf(wallet), other.nul)
    },
  )

  onChain('a key that is over binds no more, and what it bound lasts', async (fixture) => {
    const wallet = newWallet()
    assertBound(
      await fixture.registry.bind(
        fixture.issuer.sign(await claimsFor(fixture, wallet, { exp: (await fixture.now()) + 500 * day })),
      ),
    )
    await advanceTime(fixture, 401 * day)
    assert.equal(await fixture.registry.isVerifiedHuman(wallet), true)
    const token = fixture.issuer.sign(await claimsFor(fixture, newWallet()))
    assert.equal(await fixture.registry.bind(token), 'KeyIsOver')
    const next = makeIssuer()
    await addUsableKey(fixture, next, (await fixture.now()) + keyDelaySeconds + day)
    assertBound(await fixture.registry.bind(next.sign(await claimsFor(fixture, newWallet()))))
  })

  onChain('a revoked key takes its records with it, and a thief’s token outdates nobody', async (fixture) => {
    const [mine, thiefs] = [newWallet(), newWallet()]
    const stolen = makeIssuer()
    await addUsableKey(fixture, stolen, 4_000_000_000)
    const claims = await claimsFor(fixture, mine)
    assertBound(await fixture.registry.bind(fixture.issuer.sign(claims)))
    const theft = {
      ...claims,
      wallet: thiefs.toLowerCase(),
      iat: (await fixture.now()) + 3_000,
      exp: 9_999_999_999,
    }
    assertBound(await fixture.registry.bind(stolen.sign(theft)))
    const later = fixture.issuer.sign({ ...claims, iat: claims.iat + 1 })
    assert.equal(await fixture.registry.bind(later), 'Stale')
    assertBound(await fixture.registry.revokeKey(stolen.jwk.kid))
    assert.equal(await fixture.registry.isVerifiedHuman(thiefs), false)
    assert.equal(await fixture.registry.bind(stolen.sign({ ...theft, iat: theft.iat + 1 })), 'KeyIsRevoked')
    assertBound(await fixture.registry.bind(later))
    assert.equal(await fixture.registry.isVerifiedHuman(mine), true)
  })

  onChain(
    'a human who is put out is out at once, and back only by a token from afterwards',
    async (fixture) => {
      const wallet = newWallet()
      const stolen = makeIssuer()
      await addUsableKey(fixture, stolen, 4_000_000_000)
      const claims = await claimsFor(fixture, wallet)
      assertBound(await fixture.registry.bind(fixture.issuer.sign(claims)))
      assertBound(await fixture.registry.revoke(claims.nul as Hex))
      assert.equal(await fixture.registry.isVerifiedHuman(wallet), false)
      assert.equal(
        await fixture.registry.bind(fixture.issuer.sign({ ...claims, iat: await fixture.now() })),
        'Stale',
      )
      // The issuer's clock may be ahead of the chain's.
      const early = { ...(await claimsFor(fixture, newWallet())), iat: (await fixture.now()) + 600 }
      assertBound(await fixture.registry.bind(fixture.issuer.sign(early)))
      assertBound(await fixture.registry.revoke(early.nul as Hex))
      assert.equal(await fixture.registry.bind(fixture.issuer.sign(early)), 'Stale')
      // Not even where a stolen key, revoked since, had bound them in between.
      assertBound(await fixture.registry.bind(stolen.sign({ ...claims, iat: (await fixture.now()) + 1 })))
      assertBound(await fixture.registry.revokeKey(stolen.jwk.kid))
      assert.equal(
        await fixture.registry.bind(fixture.issuer.sign({ ...claims, iat: claims.iat + 1 })),
        'Stale',
      )
      assertBound(
        await fixture.registry.bind(fixture.issuer.sign({ ...claims, iat: (await fixture.now()) + 1 })),
      )
      assert.equal(await fixture.registry.isVerifiedHuman(wallet), true)
    },
  )

  onChain(
    'a key binds from the very second that its announcement named, and can be removed before',
    async (fixture) => {
      const { registry, chain, now } = fixture
      const [added, removed] = [makeIssuer(), makeIssuer()]
      assert.equal(await registry.keyDelay(), keyDelaySeconds)
      for (const { jwk } of [added, removed]) assertBound(await registry.addKey(jwk, 4_000_000_000))
      const usableFrom = (await now()) + keyDelaySeconds
      const token = async (issuer: typeof added) => issuer.sign(await claimsFor(fixture, newWallet()))
      assertBound(await registry.revokeKey(removed.jwk.kid))
      assert.equal(await registry.bind(await token(added)), 'KeyIsNew')
      await chain.rpc('evm_setNextBlockTimestamp', [usableFrom])
      await chain.rpc('anvil_mine', ['0x1'])
      assertBound(await registry.bind(await token(added)))
      assert.equal(await registry.bind(await token(removed)), 'KeyIsRevoked')
    },
  )

  onChain('the owner hands over in two steps, and a key stands under its thumbprint', async (fixture) => {
    const { registry, chain, issuer } = fixture
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
