import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { startCheckoutSimulator } from '@pohf/checkout-simulator'
import { startChain } from '@pohf/chain'
import { freePort } from '../../packages/server/dev/cluster.ts'
import { startPurchaseHarness } from '../../packages/server/test/fixtures/payments/purchases.ts'
import { startMailCatcher } from '../../packages/server/dev/mail-catcher.ts'
import {
  createPasskey,
  makePasskey,
  usePasskey,
} from '../../packages/server/test/fixtures/people/authenticator.ts'
import { makeAttestedModel } from '../../packages/server/test/fixtures/people/attested-model.ts'
import { findChromium, launch } from '../../packages/web/test/browser.ts'
import { addSyncedPasskeys } from '../ci/kinds/person.ts'
import { contactNames } from './contacts.ts'

const reports = mkdtempSync(join(tmpdir(), 'pohf-contact-'))
after(() => rmSync(reports, { recursive: true }))

// Before the first test: the hooks of a file run when its tests are done, also where it still registers others.
const chain = await startChain()
if (chain) after(() => chain.stop())

type Outcome = { readonly code: number | null; readonly output: string; readonly report: string }
/** Runs the command as an operator does, with these settings only. `onLine` plays the person. */
const runContact = async (
  parameters: readonly string[],
  settings: Readonly<Record<string, string>>,
  onLine: (line: string) => void | Promise<void> = () => undefined,
): Promise<Outcome> => {
  const folder = mkdtempSync(join(reports, 'run-'))
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../contact.ts'), ...parameters, '--report', folder],
    { env: { PATH: process.env['PATH'], ...settings }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const acts: Promise<void>[] = []
  createInterface(child.stdout).on('line', (line) => {
    output += `${line}\n`
    acts.push(Promise.resolve(onLine(line)))
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  await Promise.all(acts)
  const [file] = readdirSync(folder)
  const report = file === undefined ? '' : readFileSync(join(folder, file), 'utf8')
  for (const secret of Object.entries(settings).flatMap(([name, value]) =>
    /KEY$|SECRET$|TOKEN$/.test(name) ? [value] : [],
  ))
    assert.ok(!output.includes(secret) && !report.includes(secret), 'a secret is shown')
  return { code, output, report }
}
const marksOf = ({ output }: Outcome, mark: '✓' | '✗') =>
  output.split('\n').filter((line) => line.startsWith(mark))

/** The run failed at its last step, after as many others, and said what to do. */
const assertFailed = (outcome: Outcome, passed: number, reason: RegExp): void => {
  assert.equal(outcome.code, 1, outcome.output)
  assert.equal(marksOf(outcome, '✗').length, 1, outcome.output)
  assert.equal(marksOf(outcome, '✓').length, passed, outcome.output)
  for (const text of [outcome.output, outcome.report]) {
    assert.match(text, reason)
    assert.match(text, /What to do: \S/)
  }
}
const assertPassed = (outcome: Outcome, steps: number): void => {
  assert.equal(outcome.code, 0, outcome.output)
  assert.equal(marksOf(outcome, '✓').length, steps, outcome.output)
  assert.match(outcome.report, /It passed\./)
}

test('without a name all contacts are listed, and a name that does not exist fails with the list', async () => {
  const listed = await runContact([], {})
  assert.equal(listed.code, 0)
  for (const name of contactNames) assert.match(listed.output, new RegExp(`^${name} +\\S`, 'm'))
  const unknown = await runContact(['nothing'], {})
  assert.equal(unknown.code, 1)
  assert.match(unknown.output, /no contact nothing/)
})

const startStripe = async () => {
  const port = await freePort()
  const simulator = await startCheckoutSimulator({
    webhookUrl: `http://127.0.0.1:${port}/api/payments/card/webhook`,
  })
  after(() => simulator.stop())
  return { simulator, options: ['--port', String(port), '--wait', '30'] }
}

test('stripe: a page is paid, its event is verified and the money is refunded', async () => {
  const { simulator, options } = await startStripe()
  const outcome = await runContact(['stripe', ...options], simulator.settings, async (line) => {
    const [, session] = /\/pay\/(cs_test_\w+)/.exec(line) ?? []
    if (session !== undefined) await simulator.control(`sessions/${session}/pay`)
  })
  assertPassed(outcome, 9)
})

test('stripe: without settings, with a live key and with a key that Stripe does not know it says so', async () => {
  const { simulator } = await startStripe()
  assertFailed(await runContact(['stripe'], {}), 0, /STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set/)
  const withKey = (key: string) => runContact(['stripe'], { ...simulator.settings, STRIPE_SECRET_KEY: key })
  assertFailed(await withKey('sk_live_0123456789'), 0, /is a live key/)
  assertFailed(await withKey('sk_test_0123456789'), 1, /Stripe does not know the key/)
})

test('stripe: no server, and an event that another secret signed, are told apart', async () => {
  const { simulator, options } = await startStripe()
  const away = `http://127.0.0.1:${await freePort()}`
  assertFailed(
    await runContact(['stripe'], { ...simulator.settings, STRIPE_API_BASE: away }),
    1,
    /Stripe was not reached/,
  )
  const wrong = { ...simulator.settings, STRIPE_WEBHOOK_SECRET: 'whsec_0123456789' }
  const outcome = await runContact(['stripe', ...options], wrong, async (line) => {
    const [, session] = /\/pay\/(cs_test_\w+)/.exec(line) ?? []
    if (session !== undefined) await simulator.control(`sessions/${session}/pay`)
  })
  assertFailed(outcome, 4, /signature does not fit STRIPE_WEBHOOK_SECRET/)
})

test('mail: the server is checked and one mail is sent', async () => {
  const catcher = await startMailCatcher({ smtp: 0, http: 0 })
  after(() => catcher.stop())
  const settings = {
    SMTP_URL: `smtp://127.0.0.1:${catcher.smtpPort}`,
    MAIL_FROM: 'PoHF <pohf@pohf.example>',
    BASE_URL: 'https://pohf.example',
  }
  const outcome = await runContact(['mail', '--to', 'ada@mail.example'], settings)
  assertPassed(outcome, 3)
  assert.match(outcome.report, /- \[ \] .*spf=pass, dkim=pass and dmarc=pass/)
  assert.equal(outcome.report.includes('ada@'), false, 'the report names no mailbox')
  const [mail] = catcher.mails
  assert.equal(catcher.mails.length, 1)
  assert.deepEqual(
    [mail?.to, mail?.from, mail?.subject],
    [['ada@mail.example'], settings.MAIL_FROM, 'First contact of PoHF'],
  )
  assert.match(mail?.html ?? '', /https:\/\/pohf\.example/)
})

test('mail: without settings, without a server and where it refuses the user it says so', async () => {
  const catcher = await startMailCatcher({ smtp: 0, http: 0 })
  after(() => catcher.stop())
  const to = ['--to', 'ada@mail.example']
  const withUrl = (url: string, from = 'pohf@pohf.example') =>
    runContact(['mail', ...to], { SMTP_URL: url, MAIL_FROM: from })
  assertFailed(await runContact(['mail', ...to], {}), 0, /SMTP_URL is not set/)
  const local = `smtp://127.0.0.1:${catcher.smtpPort}`
  assertFailed(await runContact(['mail'], { SMTP_URL: local }), 0, /no mailbox is named/)
  assertFailed(await withUrl('smtps://mail.example', 'pohf@localhost'), 0, /MAIL_FROM is pohf@localhost/)
  const away = `smtp://127.0.0.1:${await freePort()}`
  assertFailed(await withUrl(away), 1, /was not reached or refused us: .*ECONNREFUSED/)
  // An address that is not this machine by its name, and reaches it: TLS is required there.
  const withoutTls = await withUrl(local.replace('127.0.0.1', '0.0.0.0'))
  assertFailed(withoutTls, 1, /was not reached or refused us: .*TLS/)
  assert.equal(catcher.mails.length, 0)
})

/** A mail server that refuses every password. */
const startRefusingServer = async (): Promise<number> => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.write('220 mail.example ESMTP\r\n')
    createInterface(socket).on('line', (line) => {
      if (line.startsWith('EHLO')) socket.write('250-mail.example\r\n250 AUTH PLAIN\r\n')
      else socket.write('535 5.7.8 Authentication failed\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : 0
}

test('mail: a password that the server refuses is named as the cause, and never shown', async () => {
  const url = `smtp://ada:password-of-ada@127.0.0.1:${await startRefusingServer()}`
  const settings = { SMTP_URL: url, MAIL_FROM: 'pohf@pohf.example' }
  const outcome = await runContact(['mail', '--to', 'ada@mail.example'], settings)
  assertFailed(outcome, 1, /Authentication failed/)
  assert.match(outcome.output, /Correct the user and the password in SMTP_URL/)
  assert.equal(`${outcome.output}${outcome.report}`.includes('password-of-ada'), false)
})

const chainSettings = (url: string): Record<string, string> => {
  if (!chain) throw new Error('there is no chain')
  const file = join(reports, 'gas.keys')
  writeFileSync(file, `${chain.gasAccounts.map(({ privateKey }) => privateKey).join('\n')}\n`, {
    mode: 0o600,
  })
  return { X402_CHAIN_RPC: url, X402_PAY_TO: chain.payTo.address, X402_GAS_KEYS_FILE: file }
}
const withChain = { skip: chain ? false : 'anvil is not built for this system' }

test(
  'chain: node, token, gas and a simulated payment are checked, and nothing is spent',
  withChain,
  async () => {
    if (!chain) return
    const blocks = () => chain.rpc('eth_blockNumber')
    await chain.rpc('anvil_mine', ['0x1'])
    const before = await blocks()
    const registry = await chain.deploy('0x6001600c60003960016000f300')
    const settings = {
      ...chainSettings(chain.url),
      EVM_RPC_URLS: `${chain.chainId}=${chain.url}`,
      ONCHAIN_REGISTRIES: `${chain.chainId}=${registry.address}`,
    }
    const mined = await blocks()
    assert.notEqual(mined, before)
    assertPassed(await runContact(['chain'], settings), 10)
    assert.equal(await blocks(), mined, 'no transaction was sent')
  },
)

test('chain: without settings, without a node and on another chain it says so', withChain, async () => {
  if (!chain) return
  assertFailed(await runContact(['chain'], {}), 0, /X402_CHAIN_RPC is not set/)
  const away = `http://127.0.0.1:${await freePort()}/secret-key-of-the-node`
  const unreachable = await runContact(['chain'], chainSettings(away))
  assertFailed(unreachable, 1, /the node of X402_CHAIN_RPC did not answer/)
  assert.equal(`${unreachable.output}${unreachable.report}`.includes('secret-key'), false)
  const base = { ...chainSettings(chain.url), X402_NETWORK: 'base' }
  assertFailed(await runContact(['chain'], base), 1, /the node is of chain 84532, and base is chain 8453/)
})

test(
  'chain: another domain, no token, an empty account and a purchase without a wallet are told apart',
  withChain,
  async () => {
    if (!chain) return
    await chain.rpc('anvil_mine', ['0x1'])
    const settings = chainSettings(chain.url)
    const named = { ...settings, X402_ASSET_NAME: 'USD Coin' }
    assertFailed(await runContact(['chain'], named), 4, /the token names the domain 0x/)
    const noToken = { ...settings, X402_ASSET: chain.buyer.address }
    assertFailed(await runContact(['chain'], noToken), 3, /there is no contract at/)
    const emptyKeys = join(reports, 'empty.keys')
    writeFileSync(emptyKeys, `0x${'1'.repeat(64)}\n`, { mode: 0o600 })
    assertFailed(
      await runContact(['chain'], { ...settings, X402_GAS_KEYS_FILE: emptyKeys }),
      5,
      /has too few coins/,
    )
    assertFailed(
      await runContact(['chain', '--spend', 'wf_test_ok'], settings),
      8,
      /PAYER_PRIVATE_KEY is not set/,
    )
  },
)

test('chain: with --spend a wallet buys one unit of the running service', withChain, async () => {
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`
  const shop = await startPurchaseHarness({ BASE_URL: baseUrl })
  assert.ok(shop)
  await shop.harness.app.api.listen({ port, host: '127.0.0.1' })
  const { privateKey } = shop.chain.buyer
  const settings = { ...shop.settings, BASE_URL: baseUrl, PAYER_PRIVATE_KEY: privateKey }
  await shop.chain.rpc('anvil_mine', ['0x1'])
  const outcome = await runContact(['chain', '--spend', 'wf_test_ok'], settings)
  assertPassed(outcome, 9)
  assert.match(outcome.report, /paid by transaction 0x[0-9a-f]{64}/)
  assert.equal(/pur_|ey[\w-]+\.[\w-]+\./.test(outcome.report), false, 'the report names no purchase')
  const unknown = await runContact(['chain', '--spend', 'wf_none'], settings)
  assertFailed(unknown, 8, /it was refused, and nothing was charged/)
})

type Asked = {
  readonly kind: string
  readonly message?: string
  readonly publicKey: { readonly challenge: string; readonly attestation?: string }
}
const passkeySettings = (port: number): Record<string, string> => ({
  PORT: String(port),
  BASE_URL: `http://localhost:${port}`,
})

test('passkey: an authenticator of a certified model registers and signs in, and its model is recorded', async () => {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const model = await makeAttestedModel()
  after(model.close)
  const passkey = makePasskey()
  const asked: Asked[] = []
  const settings = { ...passkeySettings(port), ...model.settings }
  const outcome = await runContact(['passkey', '--wait', '30'], settings, async (line) => {
    const [, path] = /Open http:\/\/localhost:\d+(\S+) /.exec(line) ?? []
    if (path === undefined) return
    const page = `http://127.0.0.1:${port}${path}`
    assert.match(await (await fetch(`${page}passkey.js`)).text(), /export async function createWith/)
    assert.equal((await fetch(`http://127.0.0.1:${port}/next`, { method: 'POST' })).status, 404)
    const next = async (answer: object): Promise<Asked> => {
      const response = await fetch(`${page}next`, { method: 'POST', body: JSON.stringify(answer) })
      const question = (await response.json()) as Asked
      asked.push(question)
      return question
    }
    const create = await next({})
    const signed = { origin, rpId: 'localhost', aaguid: model.aaguid }
    const use = await next({
      credential: createPasskey(
        passkey,
        { ...signed, challenge: create.publicKey.challenge, counter: 1 },
        { fmt: 'packed', batch: model.batch },
      ),
    })
    await next({
      credential: usePasskey(passkey, { ...signed, challenge: use.publicKey.challenge, counter: 2 }),
    })
  })
  assertPassed(outcome, 4)
  assert.deepEqual(
    asked.map(({ kind }) => kind),
    ['create', 'use', 'done'],
  )
  assert.equal(asked[0]?.publicKey.attestation, 'direct')
  assert.match(outcome.report, new RegExp(`attestation packed, AAGUID ${model.aaguid}`))
  assert.match(outcome.report, /assurance hardware_strong, bound to the device/)
})

const chromium = findChromium()
const withChromium = { skip: 'path' in chromium ? false : chromium.missing }

test('passkey: in a browser the page makes a passkey and signs in with it', withChromium, async () => {
  if (!('path' in chromium)) return
  const browser = await launch(chromium.path)
  after(() => browser.close())
  const faults: string[] = []
  let shown = ''
  const outcome = await runContact(
    ['passkey', '--wait', '60'],
    passkeySettings(await freePort()),
    async (line) => {
      const [, address] = /Open (http:\/\/localhost:\S+) /.exec(line) ?? []
      if (address === undefined) return
      const page = await browser.newPage()
      page.on('pageerror', (error) => faults.push(error.message))
      await addSyncedPasskeys(page)
      await page.goto(address)
      await page.getByRole('button', { name: 'Start' }).click()
      await page.waitForSelector('text=The passkey works')
      shown = await page.locator('output').innerText()
    },
  )
  assertPassed(outcome, 4)
  assert.match(outcome.report, /synced between devices/)
  assert.match(shown, /The passkey works: the terminal names the report/)
  assert.deepEqual(faults, [])
})

test('passkey: an address without passkeys, nobody at the browser and a wrong answer are told apart', async () => {
  const port = await freePort()
  const settings = passkeySettings(port)
  const bare = { ...settings, BASE_URL: 'http://pohf.example' }
  assertFailed(await runContact(['passkey'], bare), 0, /http:\/\/pohf\.example is not a host name with TLS/)
  assertFailed(
    await runContact(['passkey', '--wait', '1'], settings),
    2,
    /no authenticator answered within 1/,
  )
  const outcome = await runContact(['passkey', '--wait', '30'], settings, async (line) => {
    const [, path] = /Open http:\/\/localhost:\d+(\S+) /.exec(line) ?? []
    if (path === undefined) return
    const credential = createPasskey(
      makePasskey(),
      { challenge: 'another', origin: settings['BASE_URL'] ?? '' },
      { fmt: 'none' },
    )
    const response = await fetch(`http://127.0.0.1:${port}${path}next`, {
      method: 'POST',
      body: JSON.stringify({ credential }),
    })
    assert.match(((await response.json()) as Asked).message ?? '', /The check failed/)
  })
  assertFailed(outcome, 2, /the service refuses what the authenticator signed/)
})

const githubToken = 'github_pat_0123456789'
const runsOf = (name: string) => `/repos/pohf/pohf/actions/workflows/${name}/runs`

/** As much of the API of GitHub as the contact reads. */
const startGithub = async (changed: Readonly<Record<string, unknown>> = {}) => {
  const passed = {
    conclusion: 'success',
    created_at: '2026-11-19T00:00:00Z',
    html_url: 'https://github.example/1',
  }
  const resources: Readonly<Record<string, unknown>> = {
    '/repos/pohf/pohf': {
      default_branch: 'main',
      visibility: 'public',
      owner: { login: 'pohf', type: 'Organization' },
    },
    '/repos/pohf/pohf/private-vulnerability-reporting': { enabled: true },
    '/repos/pohf/pohf/security-advisories': [],
    '/orgs/pohf/packages': [{ name: 'verify' }],
    [runsOf('check.yml')]: { workflow_runs: [passed] },
    [runsOf('codeql.yml')]: { workflow_runs: [passed] },
    [runsOf('scorecard.yml')]: { workflow_runs: [passed] },
    ...changed,
  }
  const server = createServer((request, response) => {
    const resource = resources[request.url?.split('?')[0] ?? '']
    const hasAccount = request.headers.authorization === `Bearer ${githubToken}`
    response.writeHead(hasAccount ? (resource ? 200 : 404) : 401).end(JSON.stringify(resource ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const address = server.address()
  return {
    GITHUB_API_URL: `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`,
    GITHUB_REPOSITORY: 'pohf/pohf',
    GITHUB_TOKEN: githubToken,
  }
}

test('github: workflows, repository, advisories, packages and runs are read', async () => {
  assertPassed(await runContact(['github'], await startGithub()), 7)
})

test('github: without a token, with a wrong one, without a run and without reporting it says so', async () => {
  assertFailed(await runContact(['github'], {}), 1, /GITHUB_REPOSITORY and GITHUB_TOKEN are not set/)
  const settings = await startGithub()
  const wrong = { ...settings, GITHUB_TOKEN: 'github_pat_wrong' }
  assertFailed(await runContact(['github'], wrong), 2, /GitHub does not know the token/)
  const other = { ...settings, GITHUB_REPOSITORY: 'pohf/other' }
  assertFailed(await runContact(['github'], other), 2, /refused \/repos\/pohf\/other: status 404/)
  const unreported = await startGithub({
    '/repos/pohf/pohf/private-vulnerability-reporting': { enabled: false },
  })
  assertFailed(await runContact(['github'], unreported), 3, /private vulnerability reporting is off/)
  const unrun = await startGithub({ [runsOf('codeql.yml')]: { workflow_runs: [] } })
  assertFailed(await runContact(['github'], unrun), 6, /codeql\.yml never ran/)
})
