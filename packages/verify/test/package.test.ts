import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeIssuer, origin } from './issuer.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'pohf-package-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const examples = (name: string): string =>
  readFileSync(new URL(`../examples/${name}`, import.meta.url), 'utf8')

test('the published package works in a project that has nothing but it and jose', async () => {
  const installed = join(folder, 'node_modules/@pohf/verify')
  mkdirSync(installed, { recursive: true })
  await run(process.execPath, [join(root, 'packages/verify/build.ts'), installed])
  cpSync(join(root, 'node_modules/jose'), join(folder, 'node_modules/jose'), { recursive: true })

  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  assert.deepEqual(manifest.dependencies, { jose: '6.2.17' })
  assert.equal(manifest.exports['.'].default, './index.js')

  const issuer = makeIssuer()
  const key = Buffer.alloc(32, 7).toString('base64')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify(issuer.jwks))
  for (const name of ['offline.ts', 'online.ts', 'webhook.ts'])
    writeFileSync(join(folder, name), examples(name))
  // Types first, as strict as they come and without @types/node.
  const flags = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--module',
    'nodenext',
    '--types',
    '',
    '--lib',
    'es2024,dom,dom.iterable',
  ]
  await run('tsc', [...flags, join(folder, 'online.ts'), join(folder, 'webhook.ts')], { cwd: folder })

  const offline = await run(process.execPath, [
    join(folder, 'offline.ts'),
    issuer.mint('work'),
    origin,
    join(folder, 'jwks.json'),
  ])
  assert.match(offline.stdout, /^accepted crd_/)
  const webhook = await run(process.execPath, [join(folder, 'webhook.ts'), `whsec_${key}`])
  assert.match(webhook.stdout, /wrong_secret/)
})
