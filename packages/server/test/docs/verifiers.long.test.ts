// The page runs its verifiers on one credential and one forgery. This hands them every other kind of bad credential.
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { base64, makeIssuer } from '../../../verify/test/issuer.ts'
import { blocksOf, repositoryRoot } from './markdown.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'pohf-verifiers-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const files = new Map<string, string>()
const server = createServer((request, response) => {
  const file = files.get(request.url ?? '')
  response.writeHead(file === undefined ? 404 : 200).end(file)
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
after(() => server.close())

const issuer = makeIssuer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
const now = Math.floor(Date.now() / 1_000)
const indexed = (idx: number, uri = issuer.statusUri) => ({ status: { status_list: { idx, uri } } })
const signedBy = (purpose: 'live' | 'test' | 'status', more: Record<string, unknown> = {}) =>
  issuer.signAny(purpose, issuer.headerOf(purpose), issuer.claimsOf('view', more))
const [head = '', payload = '', signature = ''] = issuer.mint('view').split('.')

files.set('/.well-known/jwks.json', JSON.stringify(issuer.jwks))
const lists = {
  '/status/aa/1': issuer.statusToken([
    [5, 1],
    [6, 2],
  ]),
}
for (const [path, token] of Object.entries(lists)) files.set(path, token)
files.set(
  '/status/expired',
  issuer.statusToken([], { sub: `${issuer.issuer}/status/expired`, exp: now - 3_600 }),
)
files.set('/status/other', issuer.statusToken([]))
files.set(
  '/status/by-live-key',
  issuer.signAny('live', issuer.headerOf('live', 'statuslist+jwt'), {
    iss: issuer.issuer,
    sub: `${issuer.issuer}/status/by-live-key`,
    iat: now,
    exp: now + 3_600,
    status_list: { bits: 2, lst: '' },
  }),
)

const accepted: Readonly<Record<string, string>> = {
  'a live view': issuer.mint('view'),
  'a test view': issuer.mintTest('view'),
  'a view that is valid in its list': issuer.mint('view', indexed(4)),
}
const refused: Readonly<Record<string, string>> = {
  'another kind': issuer.mint('work'),
  'a kind that disagrees with vct': issuer.mint('view', { vct: `${issuer.issuer}/credentials/work/v1` }),
  'another issuer': issuer.mint('view', { iss: 'https://other.example' }),
  'a test mark with the live issuer': signedBy('test', { test: true }),
  'a test credential by the live key': signedBy('live', { iss: `${issuer.issuer}/test`, test: true }),
  'a live credential by the test key': signedBy('test'),
  'a credential by the key of status lists': signedBy('status'),
  'an expired credential': issuer.mint('view', { exp: now - 120 }),
  'a credential of the future': issuer.mint('view', { iat: now + 600 }),
  'one that verified nobody': issuer.mint('view', { verified: false }),
  'an unknown assurance': issuer.mint('view', { assurance: 'none' }),
  'a low quality': issuer.mint('view', { quality: 0.5 }),
  'no quality': issuer.mint('view', { quality: undefined }),
  'alg none': `${base64(JSON.stringify({ ...issuer.headerOf('live'), alg: 'none' }))}.${payload}.`,
  'a further header': issuer.signAny(
    'live',
    { ...issuer.headerOf('live'), jku: 'https://evil.example' },
    issuer.claimsOf(),
  ),
  'another type': issuer.signAny('live', issuer.headerOf('live', 'statuslist+jwt'), issuer.claimsOf()),
  'a changed payload': `${head}.${base64(JSON.stringify(issuer.claimsOf('view', { sub: 'x' })))}.${signature}`,
  'a signature cut short': `${head}.${payload}.${signature.slice(0, 40)}`,
  'two parts': `${head}.${payload}`,
  nothing: 'x',
  'a token of 9,000 characters': issuer.mint('view', { filler: 'a'.repeat(9_000) }),
  'a revoked credential': issuer.mint('view', indexed(5)),
  'a suspended credential': issuer.mint('view', indexed(6)),
  'an index beyond the list': issuer.mint('view', indexed(99_999_999)),
  'a list that is missing': issuer.mint('view', indexed(1, `${issuer.issuer}/status/missing`)),
  'a list of another address': issuer.mint('view', indexed(1, `${issuer.issuer}/status/other`)),
  'an expired list': issuer.mint('view', indexed(1, `${issuer.issuer}/status/expired`)),
  'a list by the key of credentials': issuer.mint('view', indexed(1, `${issuer.issuer}/status/by-live-key`)),
  'a list elsewhere': issuer.mint('view', indexed(1, 'http://127.0.0.1:9/status/aa/1')),
}

/** Writes the program of the page and returns the command that runs it; undefined where its language is not installed. */
const programOf = (language: 'python' | 'go', isInstalled: boolean): readonly string[] | undefined => {
  const page = readFileSync(join(repositoryRoot, 'docs/guides/verify-python-go.md'), 'utf8')
  const code = blocksOf(page).find((block) => block.language === language)?.code
  assert.ok(code !== undefined, `the page has a program in ${language}`)
  const file = join(folder, language === 'go' ? 'check.go' : 'check.py')
  writeFileSync(file, code)
  if (!isInstalled) return undefined
  if (language === 'python') return ['/usr/bin/python3', file]
  const built = join(folder, 'check-go')
  const environment = { ...process.env, GOCACHE: join(folder, 'cache') }
  const { status, stderr } = spawnSync('go', ['build', '-o', built, file], {
    env: environment,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  return [built]
}

const succeeds = (program: string, ...parameters: string[]): boolean =>
  spawnSync(program, parameters, { stdio: 'ignore' }).status === 0

for (const [language, isInstalled] of [
  ['python', succeeds('/usr/bin/python3', '-c', 'import jwt, cryptography')],
  ['go', succeeds('go', 'version')],
] as const)
  test(`the ${language} verifier accepts what it must and refuses every bad credential`, async (t) => {
    const command = programOf(language, isInstalled)
    if (command === undefined) return t.skip(`${language} is not installed`)
    const [program = '', ...before] = command
    const isAccepted = (token: string): Promise<boolean> =>
      run(program, [...before, token, issuer.issuer]).then(
        ({ stdout }) => stdout.startsWith('accepted: view'),
        (error: { code?: unknown }) => {
          assert.equal(error.code, 1, 'it refuses by exit code 1')
          return false
        },
      )
    const wrong: string[] = []
    for (const [name, token] of Object.entries(accepted))
      if (!(await isAccepted(token))) wrong.push(`refuses ${name}`)
    for (const [name, token] of Object.entries(refused))
      if (await isAccepted(token)) wrong.push(`accepts ${name}`)
    t.diagnostic(`${Object.keys(accepted).length} accepted, ${Object.keys(refused).length} refused`)
    assert.deepEqual(wrong, [])
  })
