// What the project says about itself, once: the README, the landing page, the documents, the manifest, llms.txt, the help of
// `pohf` and the descriptions of the packages quote it. No dependencies, as in telemetry.ts.

/** The question that a credential answers, as a heading. */
export const question = 'Did a person do this, and what would it cost to fake?'
/** What stands before the question in the sentence. */
export const sentenceStart = 'gives a signed, checkable answer to two questions about one act:'
export const sentence = `PoHF ${sentenceStart} did a person do this, and what would it cost to fake?`

/** Why it exists. */
export const reasons = [
  'Programs click, read, write and pay the way people do.',
  'A CAPTCHA decides once, for one site, and leaves nothing that anybody else can check.',
  'PoHF leaves a credential: it names the act and what stood behind it, a signed table says what a thousand forgeries cost, and anybody verifies both offline with a standard JWT library.',
] as const

/** What a reader asks first, each answered by one sentence. `sentence` answers what it is. */
export const answers = {
  forWhom:
    'It is for teams that run agents, owners of sites, communities, buyers of human work, and publishers.',
  fiveMinutes:
    'In five minutes a clone gives you the running service and a credential that you verified yourself.',
  limit: 'A credential never says who the person is, that nobody forced them, or that their answer is right.',
  cost: 'At `low` a script fakes an act for less than a cent: use it to slow floods, not to protect value; a signed table prices what is stronger, in acts and in people.',
} as const

export const doorNames = [
  'guard-a-tool',
  'gate-a-form',
  'count-people',
  'buy-human-work',
  'prove-attention',
] as const
export type DoorName = (typeof doorNames)[number]

export type Door = {
  readonly name: DoorName
  readonly title: string
  readonly forWhom: string
  /** What the reader has after the first call. */
  readonly value: string
  readonly restsOn: string
  readonly notFor: string
  readonly price: string
  /** Pages below `docs`, without their ending: the way in, then the guide. */
  readonly start: string
  readonly guide: string
  /** A block of a shell, at most ten lines. It needs POHF_URL, POHF_KEY and POHF_AGENT_ID, and runs in a clone. */
  readonly example: string
  /** What the block prints; `…` stands for any text. */
  readonly prints: string
}

export const doors: readonly Door[] = [
  {
    name: 'guard-a-tool',
    title: 'Guard a tool',
    forWhom: 'teams that run agents',
    value:
      'The tool runs only after people whom you named saw exactly its arguments and signed them with a passkey.',
    restsOn: 'approvers whom an owner of your account or your company’s sign-in enrolled, and typed fields.',
    notFor: 'malware on the device of an approver, or somebody who forces them.',
    price: 'one credit for each decision.',
    start: 'quickstart/guard-a-tool',
    guide: 'guides/guard-a-tool',
    // Line by line: a line that begins with import would be read as an import of this module.
    example: [
      "npx node --input-type=module <<'END'",
      'import { createClient } from "@pohf/sdk"',
      'import { guard } from "@pohf/sdk/approvals"',
      'const { POHF_URL: baseUrl, POHF_KEY: apiKey } = process.env',
      'const wireMoney = ({ amount, to }) => `sent ${amount} to ${to}`',
      'const client = createClient({ baseUrl, apiKey })',
      'const rules = { type: "test.invoice_pay", approvers: ["apv_test_approves"], quorum: 1 }',
      'const guarded = guard(wireMoney, { client, ...rules, timeoutMs: 60_000, allowTest: true })',
      'console.log(await guarded({ amount: "120.00", to: "DE02120300000000202051" }))',
      'END',
    ].join('\n'),
    prints: 'sent 120.00 to DE02120300000000202051',
  },
  {
    name: 'gate-a-form',
    title: 'Gate a form',
    forWhom: 'owners of sites',
    value:
      'One script, one element and one call of your server replace reCAPTCHA, hCaptcha or Turnstile, and leave a credential.',
    restsOn: 'short questions, budgets of networks, and a security key where you ask for more.',
    notFor: 'stopping a forger with money: at `low` a script passes.',
    price: 'one credit for each form that passes; 1,000 a month are free.',
    start: 'quickstart/site-owner',
    guide: 'guides/check',
    example: `cat > form.html <<END
<script async src="$POHF_URL/check.js"></script>
<form>
  <pohf-check site="$POHF_AGENT_ID" required></pohf-check>
  <button>Send</button>
</form>
END
curl -s "$POHF_URL/siteverify" -d "secret=$POHF_KEY" -d "response=form-$RANDOM" |
  jq -c '{success, assurance}'`,
    prints: '{"success":true,"assurance":"low"}',
  },
  {
    name: 'count-people',
    title: 'Count people',
    forWhom: 'communities, votes and free plans',
    value:
      'Members enrol once, with consent and a passkey; you get one subject for each, which no other agent can link.',
    restsOn:
      'roots that count people: sign-ins of companies that your verifier lists, and for paid work the account that was paid. World ID, government wallets and hosted checks are not built.',
    notFor: 'knowing who somebody is, or one vote each by passkeys alone: two devices can enrol twice.',
    price: 'one credit for a credential of 90 days.',
    start: 'quickstart/member',
    guide: 'guides/members',
    example: `person() {
  curl -s "$POHF_URL/api/agents/verify-personhood" -H "Authorization: Bearer $POHF_KEY" \\
    -H 'Content-Type: application/json' -d "$1" | jq -c '{verified, error}'
}
person '{"memberId": "mem_test_human"}'
person '{"memberId": "mem_test_human", "minForgingHuman": "F2"}' # answers 409: nothing counts it`,
    prints: '{"verified":true,"error":null}\n{"verified":null,"error":"below_policy"}',
  },
  {
    name: 'buy-human-work',
    title: 'Buy human work',
    forWhom: 'builders of agents, and researchers',
    value:
      'A worker answers; you get the answer, a credential and a replay, for a card or over HTTP 402 without an account.',
    restsOn: 'escrow until you accept, known answers, and the accounts that workers are paid to.',
    notFor: 'work that nobody else may see.',
    price: 'a quote names the price before you pay.',
    start: 'quickstart/buyer',
    guide: 'guides/ask-human',
    example: `npx pohf ask 'Which is friendlier: Hello there, or Dear user?' --budget 1 --simulate --wait`,
    prints: '  answer      "Simulated answer. No person has read the question."\n  credential  crd_…',
  },
  {
    name: 'prove-attention',
    title: 'Prove attention',
    forWhom: 'publishers, trainers and compliance teams',
    value:
      'Each view says how long the page was in view, which short questions were answered, and what was recorded.',
    restsOn: 'time in view and short questions. Questions about your own content are not built.',
    notFor: 'showing that somebody understood, or ads that nobody is asked about.',
    price: 'one credit for a credential.',
    start: 'quickstart/README',
    guide: 'guides/sessions',
    example: `view() {
  curl -s "$POHF_URL/api/agents/verify" -H "Authorization: Bearer $POHF_KEY" \\
    -H 'Content-Type: application/json' -d "{\\"sessionId\\": \\"$1\\"}" | jq -c '{verified, error}'
}
view article-7
view ses_test_low_quality # answers 409: nobody attended`,
    prints: '{"verified":true,"error":null}\n{"verified":null,"error":"session_rejected"}',
  },
]

/** What it says about itself, in this order: proof, cost, limits, and what no test could try. */
export const proves = [
  'That one act was recorded, when, and for which site or agent.',
  'What stood behind it: each root by kind and issuer, and whether it answered in this act.',
  'What was measured of the attention in it.',
  'That nothing in it was changed, and whether it was revoked.',
] as const
export const provesNot = [
  'Who the person is. There is no name in it.',
  'That it was a person, where a network is all that stands behind it.',
  'That nobody forced or paid them, that they understood, or that their answer is true.',
  'That they have no second credential, unless a root counts people.',
] as const
export const neverLive = [
  'Cards ran against a simulator, purchases and wallets on a local chain, mails against a mail catcher.',
  'Devices and passkeys were test certificates and virtual authenticators; company sign-ins ran on one machine.',
  'No public deployment exists, no visitor was measured, and pages were tried in Chromium only.',
] as const

/** What stands behind a credential, in the table of costs. The prices are those of the price table. */
export const rootTexts = [
  { kind: 'network', name: 'a network address', use: 'slow floods' },
  { kind: 'authenticator', name: 'a certified security key', use: 'ask for a device in the act' },
  { kind: 'app', name: 'a genuine app on a phone', use: 'ask for a device in the act' },
  { kind: 'payout_account', name: 'an account that was paid', use: 'count people, at cents each' },
  { kind: 'organization', name: 'a sign-in at a company', use: 'count people of companies you list' },
  { kind: 'world_id', name: 'World ID', use: 'count people, at cents each', isPlanned: true },
  { kind: 'vendor', name: 'a hosted document check', use: 'count people, at a dollar each', isPlanned: true },
] as const

/** For operators. */
export const operators = [
  'To try it, `npm ci` and `npm run dev` start everything on one machine, without containers.',
  'For a site, `npm start` runs it beside one PostgreSQL.',
  'To sell it, three nodes with Patroni, a role for each process, and ClickHouse for many views. Nothing is ever sent home.',
] as const

/** The descriptions of the published packages, by their folders. */
export const packageDescriptions: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    protocol: 'The wire: endpoints, schemas, claims, events and error codes.',
    verify: 'Verifies a credential or a webhook, in the browser or in Node, online or offline.',
    scorer: 'From a recorded session to a verdict: pure, deterministic, in the browser and in Node.',
    sdk: 'A typed client: one method for each endpoint, and retries that never act twice.',
    tag: 'What a page embeds: the collector of a session, and the check for forms.',
    cli: 'The command line: verify credentials, receive webhooks, buy, list and operate.',
  }).map(([folder, part]) => [
    folder,
    `PoHF: ${question.charAt(0).toLowerCase()}${question.slice(1)} ${part}`,
  ]),
)
