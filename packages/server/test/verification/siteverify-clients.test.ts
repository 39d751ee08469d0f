import 'reflect-metadata'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { KeyObject, webcrypto } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { request as ask } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as x509 from '@peculiar/x509'
import { startHarness } from '../fixtures/harness.ts'
import { makeAuthority, pemOf, type Authority } from '../fixtures/people/device-attestation.ts'
import { makeScoredSession } from '../fixtures/scored-session.ts'

const hosts = ['www.google.com', 'hcaptcha.com', 'challenges.cloudflare.com']
const harness = await startHarness()
const agent = await harness.register('test')
await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const [listening] = harness.app.api.addresses()
const apiPort = typeof listening === 'object' ? listening.port : 0

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const makeServerCertificate = async (issuer: Authority) => {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: '02',
    subject: 'CN=siteverify',
    issuer: `CN=${issuer.name}`,
    notBefore: new Date('2026-01-01'),
    notAfter: new Date('2036-01-01'),
    publicKey: keys.publicKey,
    signingKey: issuer.keys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns', value })))],
  })
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' })
  return { key, cert: certificate.toString('pem') }
}

const here = (name: string) => fileURLToPath(new URL(`../fixtures/siteverify/${name}`, import.meta.url))

/** Ends TLS for the hosts of the other services, as a proxy in front of a deployment does. */
const openProxy = async (issuer: Authority) => {
  const asked: string[] = []
  // As long as the API, whose own limit its answers name.
  const settings = { ...(await makeServerCertificate(issuer)), keepAliveTimeout: 72_000 }
  const server = createServer(settings, (request, response) => {
    const { url: path, method, headers } = request
    asked.push(`${method} ${headers.host}${path} ${headers['content-type']?.split(';')[0]}`)
    const onward = ask({ host: '127.0.0.1', port: apiPort, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close().closeAllConnections())
  const address = server.address()
  return { asked, port: typeof address === 'object' ? address?.port : 0 }
}

test('recaptcha-v2, hcaptcha and turnstile-verify of npm work, with nothing changed but the host', async () => {
  const authority = await makeAuthority('An authority of this test')
  const proxy = await openProxy(authority)
  const authorityFile = join(harness.dataDir, 'authority.pem')
  writeFileSync(authorityFile, pemOf(authority))
  const sessions = await Promise.all([1, 2, 3].map(() => makeScoredSession(harness, agent)))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--import',
      here('route-hosts.ts'),
      here('clients.ts'),
      agent.apiKey,
      agent.agentId,
      ...sessions.map(({ sessionId }) => sessionId),
    ],
    {
      env: {
        ...process.env,
        NODE_EXTRA_CA_CERTS: authorityFile,
        ROUTED_HOSTS: hosts.join(','),
        ROUTED_PORT: String(proxy.port),
      },
    },
  )
  const [recaptcha, hcaptcha, turnstile] = JSON.parse(stdout)
  const duplicate = ['timeout-or-duplicate']
  const badSecret = ['invalid-input-secret']
  assert.deepEqual(recaptcha, [
    { success: true, errors: [] },
    { success: false, errors: duplicate },
    { success: false, errors: badSecret },
  ])
  const [first, second, third] = hcaptcha
  assert.deepEqual(
    [first.success, first.score, first.sessionId, second['error-codes'], third['error-codes']],
    [true, 0.9, sessions[1]?.sessionId, duplicate, badSecret],
  )
  assert.deepEqual(turnstile, [
    { valid: true, messages: ['success'] },
    { valid: false, messages: duplicate },
    { valid: false, messages: badSecret },
  ])
  const form = 'application/x-www-form-urlencoded'
  assert.deepEqual(
    [...new Set(proxy.asked)],
    [
      `POST www.google.com/recaptcha/api/siteverify ${form}`,
      `POST hcaptcha.com/siteverify ${form}`,
      `POST challenges.cloudflare.com/turnstile/v0/siteverify ${form}`,
    ],
  )
})
