import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approverWays } from '../src/approvals/operations.ts'
import { assurances, credentialKinds, rootKinds, type RootKind } from '../src/credentials/operations.ts'
import {
  levelText,
  priceText,
  rootRules,
  sentencesOf,
  statementOf,
  type ReaderList,
  type StatementApprover,
  type StatementClaims,
  type StatementRoot,
} from '../src/credentials/statements.ts'
import { german } from '../src/credentials/statement-texts-de.ts'
import { english } from '../src/credentials/statement-texts-en.ts'

const languages = [english, german]
const agent = 'agt_5f1c'
const issuer = 'https://login.example.com'
const [company, everybody]: ReaderList[] = [
  { trustedIssuers: [issuer], pinnedAgents: [] },
  { trustedIssuers: [issuer], pinnedAgents: [agent] },
]

const rootOf = (kind: RootKind, more: Partial<StatementRoot> = {}): StatementRoot => ({
  kind,
  class: rootRules[kind].class,
  counted: rootRules[kind].counted,
  fresh: true,
  at: 1_762_560_000,
  ...more,
})
/** Each root as it can be claimed: fresh or not, counted or not, with and without an issuer. */
const rootsOf = (kind: RootKind): StatementRoot[] =>
  [true, false].flatMap((fresh) =>
    [rootRules[kind].counted, false].flatMap((counted) =>
      [undefined, issuer, 'Nordbank AG'].map((by) => rootOf(kind, { fresh, counted, issuer: by })),
    ),
  )
const approver: StatementApprover = {
  ref: 'apv_7',
  user_verification: true,
  key_age: 90_000,
  key: 'device',
  enrolled: { way: 'mail_link', at: 1_762_560_000 },
  decided: 2,
  needed: 2,
}
const claimsOf = (
  kind: (typeof credentialKinds)[number],
  roots: readonly StatementRoot[] | undefined,
): StatementClaims => ({
  kind,
  agent,
  roots,
  probes: { pictures: { asked: 1, hit: 1 }, words: { asked: 1, hit: 0 } },
  presence: { source: 'receipt' },
  personhood: { checked_at: 1_762_560_000 },
  binding: { human: 'session' },
  ...(kind === 'approval' ? { approval: { decision: 'approve', shown_seconds: 34 }, approver } : {}),
})

const forbidden = /\{|\}|\b(undefined|nan|guarantee|fraud-proof|AI-powered|military-grade|trust)/i
const wordsOf = (
  claims: StatementClaims,
  context: Parameters<typeof statementOf>[1] = {},
): readonly string[] => {
  const told = languages.map((texts) => sentencesOf(statementOf(claims, { ...context, texts })))
  assert.equal(told[0]?.length, told[1]?.length, 'both languages say as much')
  for (const sentence of told.flat()) {
    assert.ok(sentence.length > 10 && /[.]$/.test(sentence), sentence)
    assert.doesNotMatch(sentence, forbidden)
    assert.doesNotMatch(sentence, / {2}| [.,;]|[.,;][.,;]/, sentence)
  }
  assert.notDeepEqual(told[0], told[1])
  return told.flat()
}

test('every kind with every root, and with every two roots, has its sentences in both languages', () => {
  let cells = 0
  for (const kind of credentialKinds) {
    const [alone] = [wordsOf(claimsOf(kind, undefined))]
    for (const first of rootKinds) {
      for (const root of rootsOf(first)) {
        const words = wordsOf(claimsOf(kind, [root]))
        if (kind !== 'approval' || first !== 'network') assert.notDeepEqual(words, alone)
        cells += 1
      }
      for (const second of rootKinds) {
        const [one, other] = [rootOf(first), rootOf(second, { fresh: false })]
        const words = wordsOf(claimsOf(kind, [one, other]))
        const single = (root: StatementRoot) => statementOf(claimsOf(kind, [root])).behind
        if (kind !== 'approval')
          assert.deepEqual(
            words.slice(1, 3),
            [...single(one), ...single(other)],
            'one entry each, in the order signed',
          )
        cells += 1
      }
    }
  }
  assert.equal(cells, credentialKinds.length * rootKinds.length * (12 + rootKinds.length))
})

test('grey is the network alone; green is a counted root at substantial or above, or a listed company', () => {
  const strong = new Set<string>(['payout_account', 'bond', 'pid_number', 'world_id', 'vendor'])
  let green = 0
  for (const kind of credentialKinds.filter((one) => one !== 'approval'))
    for (const list of [undefined, company, everybody])
      for (const first of rootKinds)
        for (const second of [undefined, ...rootKinds])
          for (const root of rootsOf(first)) {
            const roots = [root, ...(second === undefined ? [] : [rootOf(second)])]
            const { colour } = statementOf(claimsOf(kind, roots), list ? { list } : {})
            const isEarned = roots.some((each) => each.counted && strong.has(each.kind))
            const isListed = roots.some(
              (each) => each.kind === 'organization' && list?.trustedIssuers.includes(each.issuer ?? ''),
            )
            const isNever = kind === 'presence' || kind === 'binding'
            const expected =
              !isNever && (isEarned || isListed)
                ? 'green'
                : roots.every((each) => each.kind === 'network')
                  ? 'grey'
                  : 'blue'
            assert.equal(colour, expected, `${kind} ${roots.map((each) => each.kind).join(' ')}`)
            green += colour === 'green' ? 1 : 0
          }
  assert.ok(green > 1_000)
})

test('a root that is not known, or claims more than its kind can, is named and raises no colour', () => {
  for (const [root, colour] of [
    [{ ...rootOf('world_id'), kind: 'moon' }, 'grey'],
    [{ ...rootOf('world_id'), kind: 'toString' }, 'grey'],
    [{ ...rootOf('world_id'), class: 'biometric:moon' }, 'grey'],
    [{ ...rootOf('authenticator'), counted: true }, 'grey'],
    [{ ...rootOf('organization'), class: 'bank', issuer }, 'grey'],
  ] as const)
    for (const kind of credentialKinds.filter((one) => one !== 'approval')) {
      const claims = claimsOf(kind, [root])
      assert.equal(statementOf(claims, { list: everybody }).colour, colour)
      assert.match(wordsOf(claims).join(' '), /counts for nothing.*Sie zählt nichts/)
      const beside = claimsOf(kind, [rootOf('app'), root])
      assert.equal(statementOf(beside, { list: everybody }).colour, 'blue')
    }
})

test('no decision names a script; it is blue, green where the agent is listed, and amber where the key is not known', () => {
  let cells = 0
  for (const key of ['device', 'synced', 'unknown', 'implanted'])
    for (const model of [undefined, 'ee882879-721c-4913-9775-3dfcce97072a'])
      for (const way of [...approverWays, 'by_crow'])
        for (const isVerified of [true, false])
          for (const decision of ['approve', 'deny'] as const)
            for (const decided of [0, 1, 2])
              for (const first of [undefined, ...rootKinds]) {
                const claims: StatementClaims = {
                  ...claimsOf('approval', first === undefined ? undefined : [rootOf(first, { issuer })]),
                  approval: { decision, ...(decided === 1 ? {} : { shown_seconds: 34 }) },
                  approver: {
                    ...approver,
                    key,
                    model,
                    user_verification: isVerified,
                    enrolled: { way, at: 0 },
                    decided,
                  },
                }
                const words = wordsOf(claims).join(' ')
                assert.doesNotMatch(words, /script|skript/i)
                assert.match(words, /apv_7/)
                assert.match(words, /agt_5f1c/)
                const isSound = isVerified && (key === 'device' || key === 'synced')
                assert.equal(statementOf(claims).colour, isSound ? 'blue' : 'amber')
                assert.equal(statementOf(claims, { list: company }).colour, isSound ? 'blue' : 'amber')
                const isEnough = decision === 'approve' && decided === 2
                assert.equal(
                  statementOf(claims, { list: everybody }).colour,
                  !isSound ? 'amber' : isEnough ? 'green' : 'blue',
                )
                cells += 1
              }
  assert.equal(cells, 4 * 2 * 4 * 2 * 2 * 3 * 14)
})

test('an agent that names itself after a bank and enrols its own approver is blue, in quotes, with its id', () => {
  for (const agentName of [
    'Nordbank AG',
    'Nordbank AG” (verified domain nordbank.example)',
    '”\u202eGA knabdroN',
  ]) {
    const statement = statementOf(claimsOf('approval', undefined), { agentName, list: company })
    assert.equal(statement.colour, 'blue')
    const [enrolled = ''] = statement.behind
    assert.match(
      enrolled,
      /^An owner of agent agt_5f1c, which calls itself “[^“”\u202e]+” \(no verified domain\), enrolled them by a link in a mail on 2025-11-08\.$/,
    )
    wordsOf(claimsOf('approval', undefined), { agentName })
  }
  const verified = { agentName: 'Corner Gazette', agentDomain: 'corner-gazette.example' }
  assert.match(
    wordsOf(claimsOf('approval', undefined), verified).join(' '),
    /agent agt_5f1c, which calls itself “Corner Gazette” \(verified domain corner-gazette\.example\),.*„Corner Gazette“/,
  )
  // An issuer that has only a name is in quotes too, and an address shows the host that DNS knows.
  const by = (given: string) =>
    statementOf(claimsOf('view', [rootOf('organization', { issuer: given })])).behind[0]
  assert.match(
    by('Nordbank AG') ?? '',
    /^By the word of “Nordbank AG”, one of its accounts confirmed this for agent agt_5f1c/,
  )
  assert.match(by('https://nоrdbank.example/login') ?? '', /^By the word of xn--[a-z0-9-]+\.example\/login,/)
  assert.match(by('https://nordbank.example@evil.example') ?? '', /^By the word of evil\.example,/)
})

test('figures of the act are those of the credential', () => {
  const view = claimsOf('view', undefined)
  assert.equal(
    statementOf(view, { seconds: 41 }).seen,
    'In one session this page was in view for 41 s and 1 of 2 questions were answered right.',
  )
  const one = { pictures: { asked: 1, hit: 1 }, words: { asked: 0, hit: 0 } }
  assert.equal(
    statementOf({ ...view, probes: one }).seen,
    'In one session this page was in view and 1 of 1 question was answered right.',
  )
  assert.equal(statementOf({ ...view, probes: undefined }).seen, 'In one session this page was in view.')
  assert.match(
    statementOf(claimsOf('approval', undefined)).seen,
    /^apv_7 was shown this action for 34 s and approved it\.$/,
  )
  assert.equal(
    statementOf({
      ...claimsOf('binding', undefined),
      binding: { human: 'work', checked_at: 1_762_560_000, amount: '12.00', currency: 'USD' },
    }).seen,
    'A payment of 12.00 USD, which was looked up on 2025-11-08, was tied to work that was delivered in a session that had passed.',
  )
})

test('a price is said in numbers, for one, with its date, and never in fractions of a cent', () => {
  const asOf = 1_762_560_000
  const costs = (humans: number, acts: number) =>
    priceText({ acts: { usd: acts }, humans: { usd: humans }, asOf }).split('. ')[0]
  assert.equal(
    costs(10, 0.001),
    'Forging it costs at least about 1 cent a person and less than a cent an act by what is known on 2025-11-08',
  )
  assert.match(costs(1_000, 100) ?? '', /about 1 US dollar a person and at least about 10 cents an act/)
  assert.match(costs(100_000, 1) ?? '', /about 100 US dollars a person and less than a cent an act/)
  assert.doesNotMatch(priceText({ acts: { usd: 1 }, humans: 'not_counted', asOf }), /a person and/)
  assert.match(priceText({ acts: 'named', humans: 'named', asOf }), /no market price/)
  assert.match(priceText(undefined), /not known/)
  for (const texts of languages)
    for (const price of [undefined, { acts: { usd: 1 }, humans: { usd: 10 }, asOf } as const])
      assert.doesNotMatch(priceText(price, texts), forbidden)
})

test('each level has its words in both languages', () => {
  for (const level of assurances)
    for (const texts of languages) assert.doesNotMatch(levelText(level, texts), forbidden)
})
