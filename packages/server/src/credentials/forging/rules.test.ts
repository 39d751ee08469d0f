import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { assurances, forgingClasses, type CredentialFloor, type ForgingFile } from '@pohf/protocol'
import { readForgingFile } from './prices.ts'
import { floorFault, floorOf } from './rules.ts'

const file: ForgingFile = {
  ...readForgingFile(''),
  date: '2026-11-01',
  entries: [
    { kind: '*', root: 'network', assurance: 'low', costPer1000: 0.1, class: 'F0', family: 'script' },
    {
      kind: 'view',
      root: 'authenticator',
      assurance: 'substantial',
      costPer1000: 10,
      class: 'F2',
      family: 'farm',
    },
  ],
}
const at = new Date('2026-11-20')
const weak = { kind: 'view', assurance: 'low', root: { kind: 'network' } } as const
const strong = { kind: 'view', assurance: 'substantial', root: { kind: 'authenticator' } } as const

test('a credential reaches its floor or says what is missing', () => {
  const cases: readonly (readonly [CredentialFloor, typeof weak | typeof strong, RegExp | undefined])[] = [
    [{}, weak, undefined],
    [{ minAssurance: 'low', minForging: 'F0' }, weak, undefined],
    [{ minAssurance: 'substantial' }, weak, /assurance is low, and the policy asks for substantial/],
    [{ minForging: 'F1' }, weak, /costs F0, and the policy asks for F1/],
    [{ minAssurance: 'substantial', minForging: 'F2' }, strong, undefined],
    [{ minAssurance: 'high' }, strong, /assurance is substantial/],
    [{ minForging: 'F3' }, strong, /costs F2/],
  ]
  for (const [floor, strength, fault] of cases) {
    const found = floorFault(floor, strength, { file, at })
    if (fault) assert.match(found ?? '', fault)
    else assert.equal(found, undefined)
  }
})

test('an unknown price reaches no class: no root, no entry, or a table older than 90 days', () => {
  const unknown = /costs an unknown price, and the policy asks for F0/
  const floor = { minForging: 'F0' } as const
  assert.match(floorFault(floor, { kind: 'view', assurance: 'low' }, { file, at }) ?? '', unknown)
  assert.match(floorFault(floor, { ...weak, assurance: 'high' }, { file, at }) ?? '', unknown)
  assert.match(floorFault(floor, { ...strong, kind: 'work' }, { file, at }) ?? '', unknown)
  const last = new Date(Date.parse(file.date) + 90 * 86_400_000 - 1)
  assert.equal(floorFault(floor, weak, { file, at: last }), undefined)
  assert.match(floorFault(floor, weak, { file, at: new Date(last.getTime() + 1) }) ?? '', unknown)
})

test('a call raises the policy of the profile and never lowers it', () => {
  const floor = fc.record(
    { minAssurance: fc.constantFrom(...assurances), minForging: fc.constantFrom(...forgingClasses) },
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
          if (given.minForging !== undefined)
            assert.ok(
              forgingClasses.indexOf(effective.minForging ?? 'F0') >=
                forgingClasses.indexOf(given.minForging),
            )
        }
        assert.deepEqual(floorOf({}, kind, call), { minAssurance: undefined, minForging: undefined, ...call })
      },
    ),
  )
  assert.deepEqual(floorOf({ view: { minForging: 'F4' } }, 'binding', {}), {
    minAssurance: undefined,
    minForging: undefined,
  })
})
