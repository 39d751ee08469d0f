import type { Hex } from 'viem'
import { makeIssuer, word } from './issuer.ts'
import { deployRegistry } from '@pohf/chain'
import {
  addUsableKey,
  advanceTime,
  assertBound,
  claimsFor,
  keyDelaySeconds,
  newNullifier,
  newWallet,
  type RegistryFixture,
} from './registry-fixture.ts'

/** Returns the error of the registry; without its guard the attack succeeds and returns the gas used. */
export type Attack = (fixture: RegistryFixture) => Promise<number | string>
export const attacks = {
  'the signature of another key': async (fixture) => {
    const claims = await claimsFor(fixture, newWallet())
    const { payload, keyId } = fixture.issuer.sign(claims)
    return fixture.registry.bind({ ...makeIssuer().sign(claims), payload, keyId })
  },
  'a key that nobody added': async (fixture) => {
    const stranger = makeIssuer()
    return fixture.registry.bind(stranger.sign(await claimsFor(fixture, newWallet())))
  },
  'a revoked key': async (fixture) => {
    const token = fixture.issuer.sign(await claimsFor(fixture, newWallet()))
    assertBound(await fixture.registry.revokeKey(fixture.issuer.jwk.kid))
    return fixture.registry.bind(token)
  },
  'a key past its time': async (fixture) => {
    const old = makeIssuer()
    await addUsableKey(fixture, old, (await fixture.now()) + keyDelaySeconds + 100)
    const token = old.sign(await claimsFor(fixture, newWallet()))
    await advanceTime(fixture, 200)
    return fixture.registry.bind(token)
  },
  'an expired token': async (fixture) => {
    const token = fixture.issuer.sign(await claimsFor(fixture, newWallet(), { exp: await fixture.now() }))
    return fixture.registry.bind(token)
  },
  'a token from the future': async (fixture) =>
    fixture.registry.bind(
      fixture.issuer.sign(await claimsFor(fixture, newWallet(), { iat: 9_000_000_000, exp: 9_900_000_000 })),
    ),
  'the same token again': async (fixture) => {
    const token = fixture.issuer.sign(await claimsFor(fixture, newWallet()))
    assertBound(await fixture.registry.bind(token))
    return fixture.registry.bind(token)
  },
  'the wallet before, by its older token': async (fixture) => {
    const before = await claimsFor(fixture, newWallet())
    const after = { ...before, wallet: newWallet().toLowerCase(), iat: before.iat + 1 }
    assertBound(await fixture.registry.bind(fixture.issuer.sign(before)))
    assertBound(await fixture.registry.bind(fixture.issuer.sign(after)))
    return fixture.registry.bind(fixture.issuer.sign(before))
  },
  'a human who was put out, by a token from before': async (fixture) => {
    const claims = await claimsFor(fixture, newWallet())
    assertBound(await fixture.registry.bind(fixture.issuer.sign(claims)))
    assertBound(await fixture.registry.revoke(claims.nul as Hex))
    return fixture.registry.bind(fixture.issuer.sign({ ...claims, iat: claims.iat + 1 }))
  },
  'the living wallet of another human': async (fixture) => {
    const wallet = newWallet()
    assertBound(await fixture.registry.bind(fixture.issuer.sign(await claimsFor(fixture, wallet))))
    return fixture.registry.bind(fixture.issuer.sign(await claimsFor(fixture, wallet)))
  },
  'a test token under a key that was added by mistake': async (fixture) => {
    const claims = await claimsFor(fixture, newWallet())
    return fixture.registry.bind(
      fixture.issuer.signText(JSON.stringify({ test: true, ...claims, iss: 'https://pohf.example/test' })),
    )
  },
  'a token for this address on another chain': async (fixture) =>
    fixture.registry.bind(fixture.issuer.sign(await claimsFor(fixture, newWallet(), { chain: 8_453 }))),
  'a token for another registry': async (fixture) => {
    const other = await deployRegistry(fixture.chain, { keyDelaySeconds: 0 })
    const registry = other.address.toLowerCase()
    return fixture.registry.bind(fixture.issuer.sign(await claimsFor(fixture, newWallet(), { registry })))
  },
  'a key that the owner has just added': async (fixture) => {
    const added = makeIssuer()
    assertBound(await fixture.registry.addKey(added.jwk, 4_000_000_000))
    await advanceTime(fixture, keyDelaySeconds - 60)
    return fixture.registry.bind(added.sign(await claimsFor(fixture, newWallet())))
  },
  'a human without a code': async (fixture) =>
    fixture.registry.bind(fixture.issuer.sign(await claimsFor(fixture, newWallet(), { nul: word(0n) }))),
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

export const answers: Readonly<Record<keyof typeof attacks, string>> = {
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
  'a token for this address on another chain': 'WrongChain',
  'a token for another registry': 'WrongRegistry',
  'a key that the owner has just added': 'KeyIsNew',
  'a human without a code': 'BadClaims',
  'a key that is no point of the curve': 'BadKey',
  'a key twice': 'KeyKnown',
  'a key that a stranger adds': 'OwnableUnauthorizedAccount',
  'a key that a stranger revokes': 'OwnableUnauthorizedAccount',
  'a human whom a stranger puts out': 'OwnableUnauthorizedAccount',
}
export const namedAttacks = Object.entries(attacks) as [keyof typeof attacks, Attack][]
