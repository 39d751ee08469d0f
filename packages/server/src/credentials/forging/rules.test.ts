import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { assurances, forgingClasses, type CredentialFloor, type ForgingFile } from '@pohf/protocol'
import { readForgingFile } from './prices.ts'
import { floorFault, floorOf, forgingPriceUsd, type CredentialStrength } from './rules.ts'

const file: ForgingFile = { ...readForgingFile(''), date: '2026-11-01' }
const at = new Date('2026-11-20')
const network = { kind: 'network', class: 'address', counted: false, fresh: true } as const
const proof = { kind: 'world_id', class: 'biometric:world', counted: true, fresh: false } as const
const vendor = { kind: 'vendor', class: 'document', counted: true, fresh: false } as const
const company = { kind: 'organization', class: 'employer', counted: true, fresh: true } as const
const weak: CredentialStrength = { kind: 'view', assurance: 'low', roots: [network] }
const strong: CredentialStrength = { kind: 'view', assurance: 'high', roots: [vendor] }
const limited: CredentialStrength = { ...strong, limit: { perHumanDay: 1 } }

test('a credential reaches its floor or says what is missing', () => {
  const unique: CredentialStrength = { kind: 'personhood', assurance: 'high', roots: [proof] }
  const named: CredentialStrength = { kind: 'view', assurance: 'low', roots: [company] }
  const cases: readonly (readonly [CredentialFloor, CredentialStrength, RegExp | undefined])[] = [
    [{}, weak, undefined],
    [{ minAssurance: 'low', minForging: 'F0' }, weak, undefined],
    [{ minAssurance: 'substantial' }, weak, /assurance is low, and the policy asks for substantial/],
    [{ minForging: 'F1' }, weak, /costs F0, and the policy asks for F1/],
    [{ minForgingHuman: 'F0' }, weak, /no root of the act counts humans, and the policy asks for F0/],
    [{ minAssurance: 'high', minForgingHuman: 'F2' }, unique, undefined],
    [{ minForgingHuman: 'F3' }, unique, /distinct humans costs F2, and the policy asks for F3/],
    [{ minForgingHuman: 'F4' }, strong, undefined],
    [{ minForging: 'F2' }, strong, /costs F0, and the policy asks for F2/],
    [{ minForging: 'F2', minForgingHuman: 'F4' }, limited, undefined],
    [{ minForging: 'F0' }, named, /what its issuer is worth/],
    [{ minForgingHuman: 'F0' }, named, /what its issuer is worth/],
    [{ minAssurance: 'low', maxActsPerHumanPerDay: 1 }, weak, /limits the acts of each/],
    [{ minAssurance: 'high', maxActsPerHumanPerDay: 1 }, limited, undefined],
  ]
  for (const [floor, strength, fault] of cases) {
    const found = floorFault(floor, strength, { file, at })
    if (fault) assert.match(found ?? '', fault)
    else assert.equal(found, undefined, JSON.stringify([floor, strength]))
  }
})

test('an unknown price reaches no class: no root, or a table older than 90 days', () => {
  const unknown = /costs an unknown price, and the policy asks for F0/
  const floor = { minForging: 'F0' } as const
  assert.match(floorFault(floor, { kind: 'view', assurance: 'low' }, { file, at }) ?? '', unknown)
  assert.match(floorFault(floor, { ...weak, kind: 'approval' }, { file, at }) ?? '', unknown)
  const last = new Date(Date.parse(file.date) + 90 * 86_400_000 - 1)
  assert.equal(floorFault(floor, weak, { file, at: last }), undefined)
  const later = new Date(last.getTime() + 1)
  assert.match(floorFault(floor, weak, { file, at: later }) ?? '', unknown)
  assert.match(
    floorFault({ minForgingHuman: 'F0' }, strong, { file, at: later }) ?? '',
    /distinct humans costs an unknown price/,
  )
  assert.equal(forgingPriceUsd(file, 'work', 'network', at), 0.0001)
  assert.equal(forgingPriceUsd(file, 'work', 'network', later), undefined)
  assert.equal(forgingPriceUsd(file, 'work', 'organization', at), undefined)
})

const noFloor = {
  minAssurance: undefined,
  minForging: undefined,
  minForgingHuman: undefined,
  maxActsPerHumanPerDay: undefined,
}

test('a call raises the policy of the profile and never lowers it', () => {
  const floor = fc.record(
    {
      minAssurance: fc.constantFrom(...assurances),
      minForging: fc.constantFrom(...forgingClasses),
      minForgingHuman: fc.constantFrom(...forgingClasses),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(
      fc.constantFrom('work', 'view', 'presence', 'personhood'),
      floor,
      floor,
      (kind, profile, call) => {
        const effective = floorOf({ [kind]: profile }, kind, call)
        for (const given of [profile, call]) {
          if (given.minAssurance !== undefined)
            assert.ok(
              assurances.indexOf(effective.minAssurance ?? 'low') >= assurances.indexOf(given.minAssurance),
            )
          for (const name of ['minForging', 'minForgingHuman'] as const) {
            const minimum = given[name]
            if (minimum !== undefined)
              assert.ok(forgingClasses.indexOf(effective[name] ?? 'F0') >= forgingClasses.indexOf(minimum))
          }
        }
        assert.deepEqual(floorOf({}, kind, call), { ...noFloor, ...call })
      },
    ),
  )
  assert.deepEqual(floorOf({ view: { minForging: 'F4' } }, 'binding', {}), noFloor)
  const limited = { view: { minAssurance: 'high', maxActsPerHumanPerDay: 3 } } as const
  assert.equal(floorOf(limited, 'view', {}).maxActsPerHumanPerDay, 3)
  assert.equal(floorOf(limited, 'work', {}).maxActsPerHumanPerDay, undefined)
})
