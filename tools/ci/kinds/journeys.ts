import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { verifyCredential, type Assurance, type CredentialKind } from '@pohf/verify'
import { pollUntil } from '../../../packages/server/test/fixtures/polling.ts'
import type { Deployment } from './deployment.ts'
import type { Levels } from './levels.ts'
import { openPerson, type Browser, type KindsPerson } from './person.ts'
import type { SentForm, startSite } from './site.ts'

type Answer = Awaited<ReturnType<Deployment['call']>>
type Person = 'anybody' | 'withMore'
type ShownRoot = { readonly kind: string; readonly model?: string }

/** One credential that was minted and verified. */
export type KindResult = {
  readonly kind: CredentialKind
  readonly person: Person
  readonly assurance: Assurance
  readonly root: string
  readonly how: string
  readonly seconds: number
}

export type Parts = {
  readonly deployment: Deployment
  readonly browser: Browser
  readonly site: Awaited<ReturnType<typeof startSite>>
  readonly levels: ReadonlyMap<CredentialKind, Levels>
  readonly log: (text: string) => void
}

/** The address that each person is behind, from the ranges for documentation (RFC 5737). */
const addresses = { anybody: '198.51.100.7', withMore: '203.0.113.9' }
const attemptsMax = 3
const workflow = 'wf_judge'
const account = 'DE89 3704 0044 0532 0130 00'

/** The battery: what has been minted so far, and the parts that it needs. */
export class KindsBattery {
  readonly parts: Parts
  readonly minted: KindResult[] = []
  #startedAt = performance.now()
  constructor(parts: Parts) {
    this.parts = parts
  }

  /** Verifies a credential as a relying party does, and compares it with the guide. */
  async accept(
    act: readonly [CredentialKind, Person, how: string],
    jwt: unknown,
    root: ShownRoot,
  ): Promise<void> {
    const [kind, person, how] = act
    const { deployment, levels, log } = this.parts
    const stated = levels.get(kind)
    if (!stated) throw new Error(`the guide has no levels of ${kind}`)
    const minAssurance = stated[person]
    const checked = await verifyCredential(String(jwt), {
      issuer: deployment.baseUrl,
      policy: { kinds: [kind], minAssurance, minQuality: 0, status: 'require' },
    })
    assert.ok(checked.ok, `${kind}: ${checked.ok ? '' : checked.message}`)
    const { assurance, test, roots } = checked.claims
    const named = roots?.map((one) =>
      one.model === undefined ? { kind: one.kind } : { kind: one.kind, model: one.model },
    )
    assert.deepEqual([assurance, named, test], [minAssurance, [root], undefined], kind)
    const seconds = (performance.now() - this.#startedAt) / 1_000
    this.#startedAt = performance.now()
    const shown = root.model === undefined ? root.kind : `${root.kind} ${root.model}`
    this.minted.push({ kind, person, assurance: minAssurance, root: shown, how, seconds })
    log(`${kind}: ${minAssurance}, ${shown}`)
  }

  /** Calls until the session is scored. */
  async ask(path: string, body: unknown): Promise<Answer> {
    return pollUntil(`${path} has an answer`, async () => {
      const answer = await this.parts.deployment.call('POST', path, body)
      return (answer.json as { error?: string }).error === 'session_not_ready' ? undefined : answer
    })
  }
  async askFor(path: string, body: unknown): Promise<Readonly<Record<string, unknown>>> {
    const { status, json, text } = await this.ask(path, body)
    assert.equal(status, 200, text)
    return json as Record<string, unknown>
  }

  async credits(): Promise<string> {
    const { text } = await this.parts.deployment.call('GET', '/api/agents/credits/balance')
    return text
  }
  /** A call for `substantial` is refused before the step-up, costs nothing, and names the page. */
  async stepUpUrl(path: string, body: object, code: string): Promise<string> {
    const before = await this.credits()
    const { status, json, text } = await this.ask(path, { ...body, minAssurance: 'substantial' })
    const { error, details } = json as {
      error: string
      details?: { code: string; stepUp?: { kind: string; url: string }[] }[]
    }
    assert.deepEqual([status, error, details?.[0]?.code], [409, code, 'below_policy'], text)
    assert.equal(await this.credits(), before, 'the refusal costs nothing')
    const url = details?.[0]?.stepUp?.find(({ kind }) => kind === 'authenticator')?.url
    assert.ok(url, text)
    return url
  }
}

const deviceRoot = ({ deployment }: Parts): ShownRoot => ({
  kind: 'authenticator',
  model: deployment.model.aaguid,
})
const networkRoot: ShownRoot = { kind: 'network' }

/** A visit that counts: whoever misses questions fills in the form again. */
const visit = async ({ parts }: KindsBattery, person: KindsPerson): Promise<SentForm> => {
  const { deployment, site, log } = parts
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    await person.sendForm(site.url)
    const form = site.last()
    const isVerified = await pollUntil('the session is scored', async () => {
      const { json } = await deployment.call('GET', `/api/agents/sessions/${form.sessionId}`)
      const { status, verified } = json as { status: string; verified: boolean | null }
      return status === 'scored' ? { verified } : undefined
    })
    if (isVerified.verified) return form
    log('the check was not passed; the person tries again')
  }
  throw new Error(`the check was not passed in ${attemptsMax} attempts`)
}

const enrolAt = async (battery: KindsBattery, person: KindsPerson): Promise<string> => {
  const { memberId, enrolUrl } = await battery.askFor('/api/agents/members', {})
  await person.enrol(String(enrolUrl))
  return String(memberId)
}

const submitPresence = async (battery: KindsBattery, memberId: string): Promise<unknown> => {
  const photoHash = createHash('sha256').update(randomUUID()).digest('hex')
  const submission = { memberId, source: 'geo_photo', lat: 52.52, lng: 13.4, photoHash }
  const { sessionId } = await battery.askFor('/api/kinetic/submit', submission)
  return (await battery.askFor('/api/agents/verify', { sessionId }))['pohf_jwt']
}

/** View, binding, personhood and presence of somebody with a browser and a synced passkey. */
const mintForAnybody = async (battery: KindsBattery, person: KindsPerson): Promise<void> => {
  const form = await visit(battery, person)
  const view = await battery.askFor('/api/agents/verify', form)
  await battery.accept(['view', 'anybody', 'check.md'], view['pohf_jwt'], networkRoot)
  const { sessionId } = form
  const bound = await battery.askFor('/api/agents/bind-transaction', { paymentRef: 'invoice 17', sessionId })
  await battery.accept(['binding', 'anybody', 'bind.md'], bound['pohf_jwt'], networkRoot)
  const memberId = await enrolAt(battery, person)
  const personhood = await battery.askFor('/api/agents/verify-personhood', { memberId })
  await battery.accept(['personhood', 'anybody', 'members.md'], personhood['pohf_jwt'], networkRoot)
  await battery.accept(
    ['presence', 'anybody', 'presence.md'],
    await submitPresence(battery, memberId),
    networkRoot,
  )
}

/** The same kinds of somebody who answers with a security key on the page that the refusal names. */
const mintWithKey = async (battery: KindsBattery, person: KindsPerson): Promise<void> => {
  const root = deviceRoot(battery.parts)
  const memberId = await enrolAt(battery, person)
  const form = await visit(battery, person)
  await person.plugInKey()
  await person.stepUp(await battery.stepUpUrl('/api/agents/verify', form, 'session_rejected'))
  const view = await battery.askFor('/api/agents/verify', { ...form, minAssurance: 'substantial' })
  await battery.accept(['view', 'withMore', 'check.md, devices.md'], view['pohf_jwt'], root)
  const { sessionId } = form
  const bound = await battery.askFor('/api/agents/bind-transaction', { paymentRef: 'invoice 18', sessionId })
  await battery.accept(['binding', 'withMore', 'bind.md'], bound['pohf_jwt'], networkRoot)
  const path = '/api/agents/verify-personhood'
  await person.stepUp(await battery.stepUpUrl(path, { memberId }, 'below_policy'))
  const personhood = await battery.askFor(path, { memberId, minAssurance: 'substantial' })
  await battery.accept(['personhood', 'withMore', 'members.md, devices.md'], personhood['pohf_jwt'], root)
  const presence = await submitPresence(battery, memberId)
  await battery.accept(['presence', 'withMore', 'presence.md, devices.md'], presence, root)
}

/** Orders one unit, lets somebody pay by card, and lets the person do it; gives the order. */
const orderUnit = async (battery: KindsBattery, person: KindsPerson): Promise<string> => {
  const { browser } = battery.parts
  const items = ['Is a hot dog a sandwich?']
  const { orderId } = await battery.askFor('/api/agents/order', { taskType: workflow, quantity: 1, items })
  const { checkoutUrl } = await battery.askFor('/api/agents/order/fund', { orderId })
  const payer = await browser.newPage()
  await payer.goto(String(checkoutUrl))
  await payer.click('text=/Pay 1.00 USD by card/')
  await payer.waitForURL(({ href }) => href !== checkoutUrl && !href.includes('/pay/'))
  await payer.close()
  await person.work('It is not. A sandwich has two slices.')
  return String(orderId)
}

type Unit = { readonly n: number; readonly credential: { readonly pohf_jwt: string } }
const readUnit = async ({ parts }: KindsBattery, orderId: string): Promise<Unit> => {
  const { json, text } = await parts.deployment.call('GET', `/api/agents/orders/${orderId}/results`)
  const unit = (json as { units: Unit[] }).units[0]
  assert.ok(unit, text)
  return unit
}

/** Ends a period of days that is stored in a row. The triggers that forbid it are off for this one statement. */
const endPeriod = ({ parts }: KindsBattery, update: string): Promise<unknown> =>
  parts.deployment.database.query(
    `begin; set local session_replication_role = replica; update ${update}; commit`,
  )

/** The person asks for a payout of the Stars, and two operators review and pay it. */
const payOut = async (battery: KindsBattery, person: KindsPerson): Promise<void> => {
  const { pohf, operators } = battery.parts.deployment
  const [first, second] = operators
  await endPeriod(battery, "worker_earnings set vests_at = pohf_now() where status = 'vesting'")
  await pollUntil(
    'the Stars have vested',
    async () => {
      const sql = "select from worker_earnings where status = 'vesting'"
      return (await battery.parts.deployment.database.query(sql)).rows.length === 0
    },
    90_000,
  )
  await person.requestPayout(account)
  const listed = (await pohf(first, 'payouts', 'list')) as { payouts?: { requestId: string }[] }
  const requestId = listed.payouts?.[0]?.requestId
  assert.ok(requestId, JSON.stringify(listed))
  await pohf(first, 'payouts', 'review', requestId)
  await pohf(second, 'payouts', 'approve', requestId)
  await pohf(second, 'payouts', 'pay', requestId, '--reference', 'bank 2211', '--account', account)
}

/** Work of a member, before and after a payout to their account. */
const mintWork = async (battery: KindsBattery, person: KindsPerson): Promise<void> => {
  const { call } = battery.parts.deployment
  const orderId = await orderUnit(battery, person)
  const unit = await readUnit(battery, orderId)
  await battery.accept(['work', 'anybody', 'work.md, workers.md'], unit.credential.pohf_jwt, networkRoot)
  const accepted = await call('POST', `/api/agents/orders/${orderId}/units/${unit.n}/accept`)
  assert.equal(accepted.status, 200, accepted.text)
  await payOut(battery, person)
  const paid = await readUnit(battery, await orderUnit(battery, person))
  const root = { kind: 'payout_account' }
  await battery.accept(
    ['work', 'withMore', 'work.md, workers.md, partners.md'],
    paid.credential.pohf_jwt,
    root,
  )
}

/** A unit that operators ordered in advance, done by this person and bought with a wallet. */
const buyUnit = async (battery: KindsBattery, person: KindsPerson): Promise<unknown> => {
  const { pohf, operators } = battery.parts.deployment
  await pohf(operators[0], 'work', 'produce', workflow, '1', '--mode', 'live')
  await person.work('I would say so. It depends.')
  await endPeriod(battery, "order_units set review_until = pohf_now() where status = 'delivered'")
  return pollUntil(
    'the unit is on sale and bought',
    async () => {
      const bought = await pohf('', 'buy', workflow, '--max-usd', '1', '--network', 'base', '--json').catch(
        (error: unknown) => {
          if (/out_of_stock/.test(String((error as { stdout?: string }).stdout))) return undefined
          throw error
        },
      )
      return bought && (bought['pohf_jwt'] ?? bought['credential'])
    },
    60_000,
  )
}

/** Purchases of the work of somebody with no paid account, and of somebody with one. */
const mintPurchase = async (battery: KindsBattery, person: KindsPerson, who: Person): Promise<void> => {
  await battery.accept(['purchase', who, 'buy.md, work.md'], await buyUnit(battery, person), networkRoot)
}

/** Every kind, by two people: one with nothing special, one who shows more. */
export const mintEveryKind = async (battery: KindsBattery): Promise<void> => {
  const { browser, deployment } = battery.parts
  const anybody = await openPerson(browser, addresses.anybody, deployment)
  await mintForAnybody(battery, anybody)
  await mintPurchase(battery, anybody, 'anybody')
  await mintWork(battery, anybody)
  await mintPurchase(battery, anybody, 'withMore')
  const withKey = await openPerson(browser, addresses.withMore, deployment)
  await mintWithKey(battery, withKey)
  assert.deepEqual([...anybody.faults, ...withKey.faults], [], 'no script of a page failed')
  await anybody.close()
  await withKey.close()
}
