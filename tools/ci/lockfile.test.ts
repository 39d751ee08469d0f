import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  fillIntegrity,
  integrityFaults,
  missingOptional,
  withoutIntegrity,
  type Entry,
  type Lockfile,
} from './lockfile-rules.ts'

const lockfile = JSON.parse(
  readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
) as Lockfile

const absent = new Set(
  JSON.parse(readFileSync(new URL('lockfile-absent.json', import.meta.url), 'utf8')) as string[],
)

test('every package that installs on linux-x64 has a sha512, and none names a registry', (t) => {
  const hashed = Object.values(lockfile.packages).filter(({ integrity }) => integrity !== undefined)
  t.diagnostic(`saw ${hashed.length} packages with integrity`)
  assert.ok(hashed.length >= 300)
  assert.deepEqual(integrityFaults(lockfile, absent), [])
})

test('only packages that the registry did not have are without integrity', (t) => {
  const specs = withoutIntegrity(lockfile).map(({ spec }) => spec)
  t.diagnostic(`saw ${specs.length} packages without integrity`)
  assert.ok(specs.length > 0)
  assert.deepEqual(
    specs.filter((spec) => !absent.has(spec)),
    [],
  )
  assert.notDeepEqual(integrityFaults(lockfile, new Set()), [], 'without the record each of them is a fault')
})

const hash = `sha512-${'A'.repeat(86)}==`
const planted: readonly (readonly [string, Entry, RegExp | undefined])[] = [
  ['a package without integrity', { version: '1.0.0' }, /installs on linux-x64 and has no integrity/],
  ['one for linux', { os: ['linux'], cpu: ['x64'], libc: ['glibc'] }, /has no integrity/],
  ['one for everything but Windows', { os: ['!win32'] }, /has no integrity/],
  ['one for x64 on any system', { cpu: ['x64', 'arm64'] }, /has no integrity/],
  ['a weak hash', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }, /not one sha512/],
  ['a choice of hashes', { integrity: `${hash} sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=` }, /not one sha512/],
  ['an address', { integrity: hash, resolved: 'https://registry.example/a.tgz' }, /names the address/],
  [
    'one for musl, which the registry has',
    { version: '1.0.0', os: ['linux'], cpu: ['x64'], libc: ['musl'] },
    /planted \(planted@1\.0\.0, for linux-x64-musl\) has no integrity/,
  ],
  [
    'one for another version than the registry lacks',
    { version: '2.0.1', os: ['!linux'] },
    /has no integrity/,
  ],
  ['one for everything but Linux, which the registry lacks', { version: '2.0.0', os: ['!linux'] }, undefined],
  ['a good one', { integrity: hash }, undefined],
]
for (const [name, entry, fault] of planted) {
  test(`${fault ? 'a planted violation is seen' : 'no fault is seen'}: ${name}`, () => {
    const faults = integrityFaults(
      { packages: { '': {}, 'packages/x': {}, 'node_modules/planted': entry } },
      new Set(['planted@2.0.0']),
    )
    if (fault) assert.match(faults.join(), fault)
    else assert.deepEqual(faults, [])
  })
}

test('a hash of the registry is filled in, by platform, and an absent one stays listed', async () => {
  const packages = {
    'node_modules/a': { version: '1.0.0', optional: true, os: ['darwin'], cpu: ['arm64'] },
    'node_modules/b/node_modules/@x/c': { version: '2.0.0', os: ['linux'], cpu: ['x64'], libc: ['musl'] },
    'node_modules/d': { version: '3.0.0', integrity: hash },
  }
  assert.deepEqual(
    withoutIntegrity({ packages }).map(({ spec, platform }) => `${platform} ${spec}`),
    ['darwin-arm64 a@1.0.0', 'linux-x64-musl @x/c@2.0.0'],
  )
  const filled = await fillIntegrity({ packages }, async (spec) => (spec === 'a@1.0.0' ? hash : undefined))
  assert.equal(filled.packages['node_modules/a']?.integrity, hash)
  assert.deepEqual(filled.absent, ['@x/c@2.0.0'])
  await assert.rejects(
    fillIntegrity({ packages }, async () => 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk='),
    /not one sha512/,
  )
})

const native = 'native-darwin-arm64'
const wants = (version: string): Entry => ({ version, optionalDependencies: { [native]: version } })
const lacking: readonly (readonly [string, Lockfile['packages'], readonly (readonly [string, string])[]])[] =
  [
    ['nothing', { 'node_modules/a': wants('1.0.0'), [`node_modules/${native}`]: { version: '1.0.0' } }, []],
    ['one', { 'node_modules/a': wants('1.0.0') }, [[`node_modules/${native}`, '1.0.0']]],
    ['one of the root', { '': wants('1.0.0') }, [[`node_modules/${native}`, '1.0.0']]],
    [
      'one for each of two versions of the parent',
      { 'node_modules/a': wants('2.0.0'), 'node_modules/b/node_modules/a': wants('1.0.0') },
      [
        [`node_modules/${native}`, '2.0.0'],
        [`node_modules/b/node_modules/${native}`, '1.0.0'],
      ],
    ],
    [
      'one where another version has its place',
      { 'node_modules/a': wants('2.0.0'), [`node_modules/${native}`]: { version: '1.0.0' } },
      [[`node_modules/a/node_modules/${native}`, '2.0.0']],
    ],
  ]
for (const [name, packages, expected] of lacking) {
  test(`a lockfile that lacks ${name}`, () => {
    const missing = [...missingOptional({ packages })]
    assert.deepEqual(
      missing.map(([place, { version }]) => [place, version]),
      expected,
    )
    assert.ok(
      missing.every(([, { os, cpu, optional }]) => optional && os?.[0] === 'darwin' && cpu?.[0] === 'arm64'),
    )
  })
}

test('an optional package of no platform or of a range cannot be named', () => {
  for (const [name, version] of [
    ['something', '1.0.0'],
    [native, '^1.0.0'],
  ] as const)
    assert.throws(() => missingOptional({ packages: { '': { optionalDependencies: { [name]: version } } } }))
})
