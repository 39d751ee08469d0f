import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'node:test'

/** Packages that take much CPU to load, and when they are loaded. */
const lateInApi: Readonly<Record<string, string>> = {
  '@clickhouse/client': 'with the first statement to ClickHouse',
  '@fastify/ajv-compiler': 'never: the table of endpoints has the schemas',
  '@modelcontextprotocol/server': 'with the first MCP request',
  '@opentelemetry/sdk-trace': 'at the start where traces are on',
  '@peculiar/x509': 'with the first certificate of a device',
  '@simplewebauthn/server': 'with the first passkey',
  nodemailer: 'with the first mail, in the worker',
  sharp: 'with the first image, in a process of its own',
  stripe: 'with the first call of the card provider',
  viem: 'with the first wallet or payment on a chain',
}

const script = fileURLToPath(new URL('../fixtures/processes/loaded-packages.ts', import.meta.url))
const readLoaded = async (...parameters: string[]) =>
  JSON.parse((await promisify(execFile)(process.execPath, [script, ...parameters])).stdout)

test('an api loads a heavy package when it is first used, and none to verify', async () => {
  const { verified, mcp } = await readLoaded()
  assert.equal(verified.status, 200)
  assert.ok(verified.packages.includes('kysely'), 'the list misses a package that is loaded')
  const loaded = Object.entries(lateInApi).filter(([name]) => verified.packages.includes(name))
  assert.deepEqual(loaded, [], 'loaded before their time')
  assert.equal(verified.hasFetch, false, 'an import of node:http loads fetch')
  assert.equal(mcp.status, 200)
  assert.ok(mcp.packages.includes('@modelcontextprotocol/server'))
})

test('a worker loads no web server', async () => {
  const { packages } = await readLoaded('worker')
  assert.ok(packages.includes('kysely'), 'the list misses a package that is loaded')
  const late = ['fastify', ...Object.keys(lateInApi)]
  assert.deepEqual(
    late.filter((name) => packages.includes(name)),
    [],
  )
})
