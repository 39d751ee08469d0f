import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ConfigFaults } from '../platform/ops/config.ts'
import { readEntries } from './file.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-issuers-file-'))
after(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, 'secret'), 'hunter2\n')
writeFileSync(join(folder, 'empty'), '\n')
writeFileSync(join(folder, 'large'), 'x'.repeat(4_097))

const path = join(folder, 'issuers.json')
const good = {
  name: 'acme',
  adapter: 'oidc',
  issuer: 'https://login.example.com/realms/acme',
  clientId: 'pohf',
  clientSecretFile: 'secret',
}
const faultsOf = (content: unknown): readonly string[] => {
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  try {
    readEntries(path)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigFaults, String(error))
    return error.faults.map((fault) => fault.replace(`ISSUERS_FILE ${path}`, 'FILE'))
  }
}

test('the file of issuers is read with its secrets, and defaults are strict', () => {
  writeFileSync(path, JSON.stringify([good, { ...good, name: 'other', lifeHours: 2 }]))
  const [first, second] = readEntries(path)
  assert.deepEqual(
    [first?.clientSecret, first?.lifeHours, first?.subjectClaim, first?.agents, first?.admit],
    ['hunter2', 24, 'sub', undefined, undefined],
  )
  assert.equal(second?.lifeHours, 2)
  assert.deepEqual(readEntries(''), [])
})

test('each fault of the file of issuers is named with the entry and the key, and no secret', () => {
  const cases: readonly (readonly [unknown, string])[] = [
    ['{', 'FILE is not JSON'],
    ['{}', 'FILE is not a JSON list'],
    [[{ ...good, adapter: 'saml' }], 'FILE: [0].adapter must be oidc'],
    [[{ ...good, clientsecret: 'hunter2' }], 'FILE: [0] has unknown keys: clientsecret'],
    [[{ ...good, name: 'Acme' }], 'FILE: [0].name must be lower-case letters, digits and hyphens'],
    [[good, good], 'FILE: [1].name is used twice: acme'],
    [
      [{ ...good, issuer: 'http://login.example.com' }],
      'FILE: [0].issuer must be an https address without a query, or http on this machine',
    ],
    [
      [{ ...good, issuer: 'https://login.microsoftonline.com/common/v2.0' }],
      'FILE: [0].issuer signs in accounts of every tenant: name the address with the id of your tenant',
    ],
    [[{ ...good, subjectClaim: 'email' }], 'FILE: [0].subjectClaim '],
    [[{ ...good, subjectClaim: 'oid' }], 'FILE: [0].tenant is required where subjectClaim is oid'],
    [[{ ...good, admit: {} }], 'FILE: [0].admit admits no sign-in: name values of acr or amr'],
    [[{ ...good, lifeHours: 25 }], 'FILE: [0].lifeHours '],
    [[{ ...good, agents: ['acme'] }], 'FILE: [0].agents[0] must be the id of an agent, agt_…'],
    [
      [{ ...good, clientSecretFile: 'nowhere' }],
      'FILE: [0].clientSecretFile names a file that is not readable (ENOENT)',
    ],
    [[{ ...good, clientSecretFile: 'empty' }], 'FILE: [0].clientSecretFile names an empty file'],
    [
      [{ ...good, clientSecretFile: 'large' }],
      'FILE: [0].clientSecretFile names a file of more than 4096 bytes',
    ],
    [
      [{ ...good, scim: { tokenFile: 'nowhere' } }],
      'FILE: [0].scim.tokenFile names a file that is not readable (ENOENT)',
    ],
    [[{ ...good, scim: { token: 'hunter2' } }], 'FILE: [0].scim has unknown keys: token'],
  ]
  for (const [content, fault] of cases) {
    const faults = faultsOf(content)
    assert.ok(
      faults.some((one) => one.startsWith(fault)),
      `${fault}: ${faults.join('; ')}`,
    )
    assert.ok(!faults.join().includes('hunter2'))
  }
  assert.equal(
    faultsOf([
      { ...good, name: '!' },
      { ...good, lifeHours: 0 },
    ]).length,
    2,
    'all at once',
  )
  assert.throws(() => readEntries(join(folder, 'nowhere.json')), /is not readable \(ENOENT\)/)
})
