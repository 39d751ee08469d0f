import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import * as fc from 'fast-check'
import type { Address, Hex } from 'viem'
import { compile, deployRegistry, startChain, type Chain } from '@pohf/chain'
import { makeIssuer, highSTwin, word } from './issuer.ts'

const wallets = Array.from({ length: 3 }, (_, index): Address => `0x${String(index + 1).repeat(40)}`)
const humans = Array.from({ length: 3 }, (_, index): Hex => word(BigInt(index + 1)))
const walletAt = (index: number): Address => wallets[index] ?? '0x'
const humanAt = (index: number): Hex => humans[index] ?? '0x'

type Bound = { readonly wallet: number; readonly iat: number; readonly exp: number; readonly key: number }
/** The registry as plain rules, in the order in which the contract asks them. */
const makeModel = () => {
  const records = new Map<number, Bound>()
  const revokedAt = new Map<number, number>()
  const revokedKeys = new Set<number>()
  const lives = (record: Bound | undefined, now: number) =>
    record !== undefined && record.exp > now && !revokedKeys.has(record.key)
  /** The human that bound a wallet last holds it. */
  const holders = new Map<number, number>()
  const holderOf = (wallet: number, now: number): number | undefined => {
    const human = holders.get(wallet)
    if (human === undefined) return undefined
    const record = records.get(human)
    return record?.wallet === wallet && lives(record, now) ? human : undefined
  }
  return {
    holderOf,
    bind: (human: number, token: Bound, now: number): string => {
      if (revokedKeys.has(token.key)) return 'KeyIsRevoked'
      if (token.exp <= now) return 'Expired'
      if (token.iat > now + 3_600) return 'FromFuture'
      if (token.iat <= (revokedAt.get(human) ?? 0)) return 'Stale'
      const known = records.get(human)
      if (known && token.iat <= known.iat && !revokedKeys.has(known.key)) return 'Stale'
      const holder = holderOf(token.wallet, now)
      if (holder !== undefined && holder !== human) return 'WalletTaken'
      records.set(human, token)
      holders.set(token.wallet, human)
      return 'bound'
    },
    revoke: (human: number, now: number): void => {
      revokedAt.set(human, Math.max(now, records.get(human)?.iat ?? 0))
      records.delete(human)
    },
    revokeKey: (key: number): void => void revokedKeys.add(key),
  }
}

type Step =
  | { act: 'bind'; human: number; wallet: number; key: number; age: number; life: number; flip: boolean }
  | { act: 'revoke'; human: number }
  | { act: 'revokeKey'; key: number }
  | { act: 'wait'; seconds: number }
const index = fc.nat(2)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      act: fc.constant('bind' as const),
      human: index,
      wallet: index,
      key: index,
      // Few values, so that equal ages meet; some from the future.
      age: fc.constantFrom(-5_000, -600, 0, 10, 500, 2_000),
      life: fc.constantFrom(100, 3_000, 50_000),
      flip: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('revoke' as const), human: index }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('revokeKey' as const), key: index }) },
  {
    weight: 3,
    arbitrary: fc.record({ act: fc.constant('wait' as const), seconds: fc.constantFrom(1, 700, 4_000) }),
  },
)

const chain = await startChain()
after(() => chain?.stop())
const skip = chain ? false : 'npm has no anvil for this system'

/** Plays one list of steps on a registry and on the rules, and fails where they part. */
const runSteps = async (here: Chain, steps: readonly Step[], seen: Record<string, number>, code?: Hex) => {
  const registry = await deployRegistry(here, { keyDelaySeconds: 0, code })
  const issuers = [makeIssuer(), makeIssuer(), makeIssuer()]
  for (const { jwk } of issuers) await registry.addKey(jwk, 9_000_000_000)
  const block = (await here.rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: Hex }
  const model = makeModel()
  let now = Number(block.timestamp) + 10
  const at = async <T>(work: () => Promise<T>): Promise<T> => {
    // Each act has a second of its own, and both sides know which.
    now += 1
    await here.rpc('evm_setNextBlockTimestamp', [now])
    return work()
  }
  const bind = async (each: Extract<Step, { act: 'bind' }>) => {
    const iat = now + 1 - each.age
    const token = { wallet: each.wallet, iat, exp: iat + each.life, key: each.key }
    const claims = {
      wallet: walletAt(each.wallet),
      nul: humanAt(each.human),
      iat,
      exp: token.exp,
      registry: registry.address.toLowerCase(),
      chain: here.chainId,
    }
    const signed = issuers[each.key]?.sign(claims)
    assert.ok(signed)
    const outcome = await at(() => registry.bind(each.flip ? highSTwin(signed) : signed))
    const wanted = model.bind(each.human, token, now)
    assert.equal(typeof outcome === 'number' ? 'bound' : outcome, wanted)
    seen[wanted] = (seen[wanted] ?? 0) + 1
  }
  for (const each of steps) {
    if (each.act === 'wait') now += each.seconds
    if (each.act === 'bind') await bind(each)
    if (each.act === 'revoke') {
      await at(() => registry.revoke(humanAt(each.human)))
      model.revoke(each.human, now)
    }
    if (each.act === 'revokeKey') {
      await at(() => registry.revokeKey(issuers[each.key]?.jwk.kid ?? ''))
      model.revokeKey(each.key)
    }
    await at(() => here.rpc('anvil_mine', ['0x1']))
    for (const wallet of wallets.keys()) {
      const holder = model.holderOf(wallet, now)
      const human = holder === undefined ? word(0n) : humanAt(holder)
      assert.equal(await registry.humanOf(walletAt(wallet)), human, `wallet ${wallet}`)
    }
  }
}

test('whatever is brought in whatever order, the contract and the plain rules agree', { skip }, async (t) => {
  assert.ok(chain)
  const seen: Record<string, number> = {}
  const steps = fc.array(step, { minLength: 5, maxLength: 25 })
  await fc.assert(
    fc.asyncProperty(steps, (each) => runSteps(chain, each, seen)),
    { numRuns: 15 },
  )
  for (const outcome of ['bound', 'Stale', 'WalletTaken', 'Expired'])
    assert.ok((seen[outcome] ?? 0) > 0, `${outcome} was never met`)
  t.diagnostic(JSON.stringify(seen))
})

const bindStep = { act: 'bind', human: 0, wallet: 0, key: 0, age: 500, life: 50_000, flip: false } as const
/** Lines that no single refusal shows, and steps that show each. */
const lines: readonly (readonly [line: string, instead: string, steps: readonly Step[]])[] = [
  [
    'if (known.wallet != human.wallet) _release(nullifier, known.wallet);',
    '',
    [bindStep, { ...bindStep, wallet: 1, age: 10 }],
  ],
  [
    '|| _nullifierOf[wallet] != nullifier',
    '',
    [
      { ...bindStep, age: 0, life: 100 },
      { act: 'wait', seconds: 700 },
      { ...bindStep, human: 1, age: 10 },
      { ...bindStep, wallet: 1, age: 0 },
    ],
  ],
  ['|| keys[human.key].revoked) return 0', ') return 0', [bindStep, { act: 'revokeKey', key: 0 }]],
  [
    '&& !keys[known.key].revoked) revert Stale',
    ') revert Stale',
    [
      { ...bindStep, age: -600 },
      { act: 'revokeKey', key: 0 },
      { ...bindStep, key: 1 },
    ],
  ],
  [
    'human.iat > block.timestamp ? human.iat : uint40(block.timestamp)',
    'uint40(block.timestamp)',
    [
      { ...bindStep, age: -600 },
      { act: 'revoke', human: 0 },
      { ...bindStep, wallet: 1, age: -500 },
    ],
  ],
  [
    'if (uint256(s) > P256.N / 2 && uint256(s) < P256.N) s = bytes32(P256.N - uint256(s));',
    '',
    // Thirteen signatures without an upper s come once in eight thousand times.
    Array.from({ length: 13 }, (_, age) => ({ ...bindStep, age: 400 - age * 10 })),
  ],
]
/** Each compilation takes 1.5 s of CPU: CI tries some lines, `npm run battery -- planted` all of them. */
const tried = process.env['POHF_EVERY_GUARD'] === '1' ? lines : lines.filter((_, place) => place % 3 === 0)
test('each of these lines is needed: without it the two part', { skip }, async (t) => {
  assert.ok(chain)
  const source = readFileSync(new URL('../contracts/HumanRegistry.sol', import.meta.url), 'utf8')
  for (const [line] of lines)
    assert.equal(source.split(line).length, 2, `the registry has this line once: ${line}`)
  for (const [line, instead, steps] of tried) {
    await runSteps(chain, steps, {})
    const weak = compile(source.replace(line, instead))['HumanRegistry']?.bytecode
    await assert.rejects(runSteps(chain, steps, {}, weak), assert.AssertionError, line)
  }
  t.diagnostic(`${tried.length} of ${lines.length} lines were taken away, one at a time`)
})
