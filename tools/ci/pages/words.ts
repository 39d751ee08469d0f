import {
  approvalDecisions,
  approverWays,
  assurances,
  credentialKinds,
  rootKinds,
  type CredentialKind,
} from '../../../packages/protocol/src/index.ts'
import type { RootKind } from '../../../packages/protocol/src/credentials/operations.ts'
import {
  levelText,
  priceText,
  rootRules,
  statementOf,
  type StatementClaims,
  type StatementContext,
} from '../../../packages/protocol/src/credentials/statements.ts'
import { german } from '../../../packages/protocol/src/credentials/statement-texts-de.ts'
import { english } from '../../../packages/protocol/src/credentials/statement-texts-en.ts'
import { generatedNote, tableOf, type GeneratedFile } from './markdown.ts'

// docs/reference/words.md: every sentence and colour that a live credential can have, from the functions that the pages call.

const [day, at] = [86_400, Date.UTC(2026, 10, 8) / 1_000]
const agent = 'agt_5f1c'

/** Roots that answer in the act; the others were checked before it. */
const freshKinds: readonly RootKind[] = ['network', 'authenticator', 'app', 'privacy_pass', 'organization']
/** Roots whose sentence names an issuer. */
const company = 'https://login.example.com'
const issuers: Readonly<Partial<Record<RootKind, string>>> = {
  pid_number: 'https://wallet.example',
  vendor: 'https://vendor.example',
  organization: company,
}
const rootOf = (kind: RootKind) => ({
  kind,
  class: rootRules[kind].class,
  issuer: issuers[kind],
  counted: rootRules[kind].counted,
  fresh: freshKinds.includes(kind),
  at,
})

const actOf = (kind: Exclude<CredentialKind, 'approval'>): StatementClaims => ({
  kind,
  agent,
  probes: { pictures: { asked: 2, hit: 2 }, words: { asked: 0, hit: 0 } },
  presence: { source: 'geo_photo' },
  personhood: { checked_at: at },
  binding: { human: 'session' },
})

type Key = 'attested' | 'device' | 'synced' | 'unknown'
const keys: readonly Key[] = ['attested', 'device', 'synced', 'unknown']
const approvalOf = (key: Key, way: string, isVerified: boolean): StatementClaims => ({
  kind: 'approval',
  agent,
  approval: { decision: approvalDecisions[0], shown_seconds: 34 },
  approver: {
    ref: 'apv_7',
    user_verification: isVerified,
    key_age: 40 * day,
    key: key === 'attested' ? 'device' : key,
    ...(key === 'attested' ? { model: 'ee882879-721c-4913-9775-3dfcce97072a' } : {}),
    enrolled: { way, at },
    decided: 2,
    needed: 2,
  },
})

type Texts = typeof english
const languages = [english, german]
const seenIn = (claims: StatementClaims, texts: Texts, context: StatementContext = {}): string =>
  statementOf(claims, { ...context, texts }).seen
const behindIn = (claims: StatementClaims, texts: Texts): string =>
  statementOf(claims, { texts }).behind.join(' ')

const head = ['Root', 'Colour', 'English', 'German']
const kindSection = (kind: Exclude<CredentialKind, 'approval'>): string => {
  const seen = languages.map((texts) => seenIn(actOf(kind), texts, { seconds: 41 }))
  const rows = rootKinds.map((root) => {
    const claims = { ...actOf(kind), roots: [rootOf(root)] }
    return [`\`${root}\``, statementOf(claims).colour, ...languages.map((texts) => behindIn(claims, texts))]
  })
  return `## ${kind}\n\n${seen.map((sentence) => `> ${sentence}`).join('\n>\n')}\n\n${tableOf(head, rows)}`
}

const approvalRows = (): string[][] =>
  keys.flatMap((key) =>
    approverWays.flatMap((way) =>
      [true, false].map((isVerified) => {
        const claims = approvalOf(key, way, isVerified)
        const listed = statementOf(claims, { list: { trustedIssuers: [], pinnedAgents: [agent] } }).colour
        return [
          `${key}, \`${way}\`${isVerified ? '' : ', not verified'}`,
          `${statementOf(claims).colour}; ${listed}`,
          ...languages.map((texts) => behindIn(claims, texts)),
        ]
      }),
    ),
  )

const listedColour = (kind: CredentialKind): string =>
  statementOf(
    { ...actOf('view'), kind, roots: [rootOf('organization')] },
    { list: { trustedIssuers: [company], pinnedAgents: [] } },
  ).colour

const price = { acts: { usd: 0.001 }, humans: { usd: 10 }, asOf: at }
const acts = credentialKinds.filter((kind) => kind !== 'approval')

const page = (): string => `${generatedNote}

# Words and colours

What \`/verify\`, the console, \`pohf verify\` and these documents say of a valid live credential, in every case. All of them take it
from [statements.ts](../../packages/protocol/src/credentials/statements.ts), and this page is written by the same functions. A test
credential says only that no person was involved, and a refused one says why.

The first sentence is what the service saw. Then comes what stands behind it, a few sentences for each root, the strongest first. The last
one says of a view, of work and of a decision how much of it was taken in:

${languages.map((texts) => `> ${statementOf(actOf('view'), { texts }).attention ?? ''}`).join('\n>\n')}

Ids, dates, seconds and questions below are examples; pages say those of the credential.

## Colours

| Colour | When |
| --- | --- |
| grey | the network alone, or nothing, stands behind it |
| blue | a device, a number, a card or an issuer stands behind it, which you must know; a decision about an approval |
| green | a root that counts people, at \`substantial\` or \`high\`; a company that you list; an approval of an agent that you list |
| amber | a decision with a key of which nobody knows whether it can be copied, or that did not check who used it |
| red | refused: forged, revoked, made for somebody else |

- \`presence\` and \`binding\` are never green: nobody checked the place, and a payment is not an act of a person.
- With its issuer on [your list](../guides/verify.md#your-list) \`organization\` is green for ${acts.filter((kind) => listedColour(kind) === 'green').join(', ')}.
- A decision is green only where you list the agent, the key is known, the person was verified, they approved, and as many had approved as were
  needed. A denial is never green.
- A root of a kind or class that is not known, or that claims to count people where its kind cannot, is named and counts for nothing.
- The price is never a colour.

## Levels

${tableOf(
  ['Level', 'English', 'German'],
  assurances.map((level) => [`\`${level}\``, ...languages.map((texts) => levelText(level, texts))]),
)}

## Names

An owner of an account chooses the name of an agent, and can choose that of a bank. So such a name stands in quotes, beside the id of the agent
and the domain that the service checked, if there is one. The name of an issuer stands in quotes too; an https address stands as it is, with
its host in the letters of DNS. Characters that show nothing or turn the direction of the text are left out.

${languages
  .map(
    (texts) =>
      `> ${statementOf(approvalOf('synced', 'mail_link', true), { texts, agentName: 'Nordbank AG' }).behind[0] ?? ''}`,
  )
  .join('\n>\n')}

## Price

${languages.map((texts) => `> ${priceText(price, texts)}`).join('\n>\n')}

${acts.map(kindSection).join('\n\n')}

## approval

${languages.map((texts) => `> ${seenIn(approvalOf('device', 'mail_link', true), texts)}`).join('\n>\n')}

The root of the session is not told where it is \`network\`: a named person signed, and a script needs their key. Others are told as above. The
second colour is that where you list the agent.

${tableOf(['Key, way', 'Colour', 'English', 'German'], approvalRows())}
`

export const wordFiles = (): GeneratedFile[] => [['docs/reference/words.md', page()]]
