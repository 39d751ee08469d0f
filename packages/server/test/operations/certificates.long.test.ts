import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '../../dev/cluster.ts'
import { makeMetrics } from '../../src/platform/ops/metrics.ts'
import { noteCertificates } from '../../src/signing/transport/certificates.ts'
import { startHarness } from '../fixtures/harness.ts'
import { pollUntilStarted, startMain } from '../fixtures/processes/child-processes.ts'
import { makeSignerAuthority } from '../fixtures/signer-tls.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-certificates-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const authority = await makeSignerAuthority(folder, 'authority')
const listen = `localhost:${await freePort()}`
const apiEnd = new Date('2031-05-06T07:08:09Z')
const signerEnd = new Date('2032-05-06T07:08:09Z')
const authorityEnd = new Date('2036-01-01')

/** The values of the metric by file. */
const endsIn = (text: string) =>
  Object.fromEntries(
    Array.from(
      text.matchAll(/^pohf_tls_certificate_end_timestamp_seconds\{file="(\w+)"\} (\S+)$/gm),
      ([, file = '', value]) => [file, new Date(Number(value) * 1_000).toISOString()],
    ),
  )

test('an api tells when the certificates that it loaded for its signers expire', async () => {
  const socket = join(folder, 'api.sock')
  const settings = await authority.issue('api.example', apiEnd)
  const harness = await startHarness({
    ...settings,
    SIGNER_SOCKET: socket,
    SIGNER_URL: `unix:${socket},https://${listen}`,
  })
  // A file that is replaced is not in use before the next start.
  writeFileSync(settings.SIGNER_TLS_CERT, 'replaced')
  const { text } = await harness.callOperator('GET', '/metrics')
  assert.deepEqual(endsIn(text), {
    certificate: apiEnd.toISOString(),
    authority: authorityEnd.toISOString(),
  })
})

test('a signer that listens for other machines tells it too, and one without TLS has no value', async (t) => {
  const start = async (name: string, environment: Readonly<Record<string, string>>) => {
    const run = startMain(['signer'], { DATA_DIR: join(folder, name), METRICS_PORT: '0', ...environment })
    t.after(async () => {
      run.child.kill('SIGTERM')
      await run.exited
    })
    const findUrl = async () => /"url":"([^"]+)"/.exec(run.out()) ?? false
    const [, url = ''] = await pollUntilStarted('metrics', run, findUrl)
    return (await fetch(url)).text()
  }
  const withTls = { SIGNER_LISTEN: listen, ...(await authority.issue('localhost', signerEnd)) }
  assert.deepEqual(endsIn(await start('tls', withTls)), {
    certificate: signerEnd.toISOString(),
    authority: authorityEnd.toISOString(),
  })
  assert.deepEqual(endsIn(await start('socket', {})), {})
})

test('of several certificates in a file the first to expire counts, and a file without one is refused', async () => {
  const metrics = makeMetrics()
  const [early, late] = [await authority.issue('early', apiEnd), await authority.issue('late', signerEnd)]
  const cert = readFileSync(late.SIGNER_TLS_CERT)
  const ca = Buffer.concat([cert, readFileSync(early.SIGNER_TLS_CERT)])
  noteCertificates(metrics, { cert, ca, key: Buffer.alloc(0) })
  assert.deepEqual(endsIn(await metrics.registry.metrics()), {
    certificate: signerEnd.toISOString(),
    authority: apiEnd.toISOString(),
  })
  assert.throws(
    () => noteCertificates(metrics, { cert: Buffer.from('none'), ca, key: Buffer.alloc(0) }),
    /certificate for TLS .* is no certificate in PEM/,
  )
})
