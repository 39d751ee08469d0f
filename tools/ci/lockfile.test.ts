import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  foreignWithoutIntegrity,
  integrityFaults,
  missingOptional,
  type Entry,
  type Lockfile,
} from './lockfile-rules.ts'

const lockfile = JSON.parse(
  readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
) as Lockfile

/** Packages for other platforms, which CI and the image never install. Their parents name exact versions. */
const foreign: Readonly<Record<string, readonly string[]>> = {
  '@foundry-rs/anvil-': ['darwin-amd64', 'darwin-arm64', 'linux-arm64', 'win32-amd64'],
  '@oxc-parser/binding-': [
    'android-arm-eabi',
    'android-arm64',
    'darwin-arm64',
    'darwin-x64',
    'freebsd-x64',
    'linux-arm-gnueabihf',
    'linux-arm-musleabihf',
    'linux-arm64-musl',
    'linux-ppc64-gnu',
    'linux-riscv64-gnu',
    'linux-riscv64-musl',
    'linux-s390x-gnu',
    'linux-x64-musl',
    'openharmony-arm64',
    'win32-arm64-msvc',
    'win32-ia32-msvc',
    'win32-x64-msvc',
  ],
  '@oxlint-tsgolint/': ['darwin-arm64', 'darwin-x64', 'win32-arm64', 'win32-x64'],
  '@oxlint/binding-': [
    'android-arm-eabi',
    'android-arm64',
    'darwin-arm64',
    'darwin-x64',
    'freebsd-x64',
    'linux-arm-gnueabihf',
    'linux-arm-musleabihf',
    'linux-arm64-musl',
    'linux-ppc64-gnu',
    'linux-riscv64-gnu',
    'linux-riscv64-musl',
    'linux-s390x-gnu',
    'linux-x64-musl',
    'openharmony-arm64',
    'win32-arm64-msvc',
    'win32-ia32-msvc',
    'win32-x64-msvc',
  ],
  '@rolldown/binding-': [
    'android-arm-eabi',
    'android-arm64',
    'darwin-arm64',
    'darwin-x64',
    'freebsd-x64',
    'linux-arm-gnueabihf',
    'linux-arm64-gnu',
    'linux-arm64-musl',
    'linux-ppc64-gnu',
    'linux-s390x-gnu',
    'linux-x64-musl',
    'openharmony-arm64',
    'wasm32-wasi',
    'win32-arm64-msvc',
    'win32-x64-msvc',
  ],
}

test('every package that installs on linux-x64 has a sha512, and none names a registry', (t) => {
  const hashed = Object.values(lockfile.packages).filter(({ integrity }) => integrity !== undefined)
  t.diagnostic(`saw ${hashed.length} packages with integrity`)
  assert.ok(hashed.length >= 300)
  assert.deepEqual(integrityFaults(lockfile), [])
})

test('the packages without integrity are these, all for other platforms', () => {
  const listed = Object.entries(foreign).flatMap(([prefix, names]) => names.map((name) => prefix + name))
  assert.deepEqual(foreignWithoutIntegrity(lockfile), listed.toSorted())
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
  ['one for musl', { os: ['linux'], cpu: ['x64'], libc: ['musl'] }, undefined],
  ['one for everything but Linux', { os: ['!linux'] }, undefined],
  ['a good one', { integrity: hash }, undefined],
]
for (const [name, entry, fault] of planted) {
  test(`${fault ? 'a planted violation is seen' : 'no fault is seen'}: ${name}`, () => {
    const faults = integrityFaults({ packages: { '': {}, 'packages/x': {}, 'node_modules/planted': entry } })
    if (fault) assert.match(faults.join(), fault)
    else assert.deepEqual(faults, [])
  })
}

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
