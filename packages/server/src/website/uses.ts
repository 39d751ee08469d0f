import { freeSealsPerMonth } from '@pohf/protocol'
import { html, type Html } from '../platform/http/html.ts'

/** Code that readers copy. It scrolls by itself, so it can have the focus. */
export const codeBlock = (label: string, code: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre>`

/** A guide of the built documentation; without it, the text for models. */
export const guidePath = (docsPath: string, name: string): string =>
  docsPath === '/docs' ? `/docs/guides/${name}` : docsPath

type UseOptions = { readonly baseUrl: string; readonly docsPath: string }

/** With double quotes, since the module graph takes `from '…'` for an import of this module. */
const guardCode = ({ baseUrl }: UseOptions): string => `import { createClient } from "@pohf/sdk"
import { guard } from "@pohf/sdk/approvals"

const client = createClient({ baseUrl: "${baseUrl}", apiKey: "YOUR_TEST_KEY" })
const pay = guard(({ amount }) => \`paid \${amount}\`, {
  client, type: "test.invoice_pay", approvers: ["apv_test_approves"],
  quorum: 1, timeoutMs: 60_000, allowTest: true,
})
console.log(await pay({ amount: "120.00", to: "DE02120300000000202051" }))`

const formCode = ({ baseUrl }: UseOptions): string => `<script async src="${baseUrl}/check.js"></script>

<form method="post" action="/comments">
  <textarea name="comment"></textarea>
  <pohf-check site="YOUR_AGENT_ID" required></pohf-check>
  <button>Post comment</button>
</form>`

const callCode = ({ baseUrl }: UseOptions, name: string, body: string, answer: string): string =>
  `curl ${baseUrl}/api/agents/${name} \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${body}'

${answer}`

type Use = {
  readonly title: string
  /** What it does, and what it does not do. */
  readonly text: string
  readonly limit: string
  readonly price: string
  readonly guide: string
  readonly codeLabel: string
  readonly code: (options: UseOptions) => string
}

/** In the order and with the words of the README, which a test compares. The code runs with a test key in its place. */
export const uses: readonly Use[] = [
  {
    title: 'Guard a tool',
    text: 'It runs only after named people saw exactly these arguments and signed with a passkey.',
    limit: 'It does not stop malware on their device, or somebody who forces them.',
    price: 'one credit for each decision',
    guide: 'guard-a-tool',
    codeLabel: 'JavaScript for a guarded tool',
    code: guardCode,
  },
  {
    title: 'Gate a form',
    text: 'A script, an element, and one call of your server, which replaces the one to reCAPTCHA, hCaptcha or Turnstile.',
    limit: 'It does not stop a forger with money.',
    price: `one credit for each form that passes, ${freeSealsPerMonth.toLocaleString('en')} a month are free`,
    guide: 'check',
    codeLabel: 'HTML for a form',
    code: formCode,
  },
  {
    title: 'Count people',
    text: 'Members enrol once, with consent and a passkey; you get the same sub for the same member, and others get another one.',
    limit: 'A person with two devices can enrol twice.',
    price: 'one credit for a credential',
    guide: 'members',
    codeLabel: 'Request about a member, and its answer',
    code: (options) =>
      callCode(
        options,
        'verify-personhood',
        '{"memberId": "mem_test_human"}',
        '{ "verified": true, "sub": "…", "pohf_jwt": "eyJ…" }',
      ),
  },
  {
    title: 'Buy human work',
    text: 'A worker answers; you get the answer, a credential and a replay. Programs pay by card or, without an account, over HTTP 402.',
    limit: 'Do not use it for work that nobody may see.',
    price: 'a quote names the price before you pay',
    guide: 'ask-human',
    codeLabel: 'Command that asks a person',
    code: ({ baseUrl }) => `npx pohf ask 'Which is friendlier: Hello there, or Dear user?' \\
  --budget 1 --simulate --wait --key $POHF_KEY --url ${baseUrl}`,
  },
  {
    title: 'Measure attention',
    text: 'Each view has what was recorded: focus, answers and motion.',
    limit: 'Whether somebody understood is not in it, and a script can play a view.',
    price: 'one credit for a credential',
    guide: 'sessions',
    codeLabel: 'Request about a view, and its answer',
    code: (options) =>
      callCode(
        options,
        'verify',
        '{"sessionId": "article-7"}',
        '{ "verified": true, "assurance": "low", "quality": 0.71, "pohf_jwt": "eyJ…" }',
      ),
  },
]

const others = (
  docsPath: string,
): readonly (readonly [title: string, text: string, href: string, label: string])[] => [
  [
    'You got a credential',
    'Verify it in your browser or in your code, offline, without an account.',
    '/verify',
    'Verify a credential',
  ],
  ['Agents', 'Find, call and pay by MCP or HTTP, with USDC or a card.', '/llms.txt', 'For language models'],
  ['Workers', 'Every task states its pay and its length before you start.', '/work', 'See open tasks'],
  ['Operators', 'One program and PostgreSQL, on your own machines.', docsPath, 'Run it yourself'],
]

const sentenceOf = (phrase: string): string => `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`

/** What the service is used for, each with its limit, its price and an example. */
export const usesSection = (options: UseOptions): Html =>
  html`<section aria-labelledby="uses">
    <h2 id="uses">Five uses</h2>
    ${uses.map(
      ({ title, text, limit, price, guide, codeLabel, code }) =>
        html`<div class="who">
          <div>
            <h3>${title}</h3>
            <p class="muted gap">${text} ${limit}</p>
            <p class="faint small gap">${sentenceOf(price)}</p>
            <p class="linkrow">
              <a href="${guidePath(options.docsPath, guide)}" aria-label="Guide: ${title}">Guide</a>
            </p>
          </div>
          ${codeBlock(codeLabel, code(options))}
        </div>`,
    )}
    <ul class="others">
      ${others(options.docsPath).map(
        ([title, text, href, label]) =>
          html`<li class="card pad">
            <h3>${title}</h3>
            <p class="muted small">${text}</p>
            <p class="linkrow"><a href="${href}">${label}</a></p>
          </li>`,
      )}
    </ul>
  </section>`

const registerCode = (baseUrl: string): string => `curl ${baseUrl}/api/agents/register \\
  -H 'Content-Type: application/json' \\
  -d '{"name": "Corner Gazette",
       "contactEmail": "you@example.com",
       "mode": "test"}'`

/** The form for a test key. A script sends it and shows the key in place; the command does the same without a script. */
export const testKeySection = (baseUrl: string): Html =>
  html`<section class="card key" id="key" aria-labelledby="key-title">
    <div>
      <h2 id="key-title">Get a test key</h2>
      <p class="muted gap">
        It works at once. Test credentials are marked as such and prove nothing, so you can build without
        risk.
      </p>
      <form id="key-form" class="paste" hidden>
        <label for="key-name">Name of your site or agent</label>
        <input id="key-name" name="name" maxlength="200" autocomplete="organization" required />
        <label for="key-mail">Email for notices about your key</label>
        <input id="key-mail" name="contactEmail" type="email" maxlength="254" autocomplete="email" required />
        <p><button class="btn main">Create test key</button></p>
      </form>
      <div id="key-result" role="status"></div>
      <noscript><p class="gap">Without JavaScript, use the command.</p></noscript>
    </div>
    <div>
      <h3>The same from a terminal</h3>
      ${codeBlock('Command for a test key', registerCode(baseUrl))}
      <p class="muted gap">
        Live agents with a confirmed address have ${freeSealsPerMonth.toLocaleString('en')} free verifications
        a month, no card needed.
        <a href="/pricing">Pricing</a>
      </p>
    </div>
  </section>`
