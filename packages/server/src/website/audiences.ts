import { html, type Html } from '../platform/http/html.ts'

/** Code that readers copy. It scrolls by itself, so it can have the focus. */
export const codeBlock = (label: string, code: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre>`

type AudienceOptions = { readonly baseUrl: string; readonly docsPath: string }

const siteCode = (baseUrl: string): string => `<script async src="${baseUrl}/check.js"></script>

<form method="post" action="/comments">
  <textarea name="comment"></textarea>
  <pohf-check site="YOUR_AGENT_ID" required></pohf-check>
  <button>Post comment</button>
</form>`

const developerCode = (baseUrl: string): string => `curl ${baseUrl}/api/agents/verify \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"sessionId": "visit-1"}'

{ "verified": true, "assurance": "low", "pohf_jwt": "eyJ…" }`

const relyingPartyCode = (baseUrl: string): string => `import { verifyCredential } from '@pohf/verify'

const result = await verifyCredential(jwt, {
  issuer: '${baseUrl}',
  policy: { kinds: ['view'], minAssurance: 'substantial',
            minQuality: 0.6, status: 'require' },
})
if (!result.ok) throw new Error(result.message)`

type Audience = {
  readonly id: string
  readonly title: string
  readonly text: string
  readonly links: readonly (readonly [href: string, label: string])[]
  readonly codeLabel: string
  readonly code: string
}

const audienceList = ({ baseUrl, docsPath }: AudienceOptions): readonly Audience[] => [
  {
    id: 'sites',
    title: 'For site owners',
    text: 'Put the check in a form. A visitor answers two short questions in place, and your form carries the session.',
    links: [
      ['/console#/install', 'Install the check'],
      [docsPath, 'Guide'],
    ],
    codeLabel: 'HTML for sites',
    code: siteCode(baseUrl),
  },
  {
    id: 'developers',
    title: 'For developers',
    text: 'One call exchanges the session for a signed credential. A test key simulates every outcome, so you can build before you have visitors.',
    links: [
      ['#key', 'Get a test key'],
      ['/openapi.json', 'OpenAPI document'],
    ],
    codeLabel: 'Request with curl, and its answer',
    code: developerCode(baseUrl),
  },
  {
    id: 'relying-parties',
    title: 'For relying parties',
    text: 'You received a credential and want to know what it is worth. Verify it in your browser or in your code, offline, without an account.',
    links: [
      ['/verify', 'Verify a credential'],
      ['/.well-known/jwks.json', 'Public keys'],
    ],
    codeLabel: 'TypeScript for relying parties',
    code: relyingPartyCode(baseUrl),
  },
]

const others = (
  docsPath: string,
): readonly (readonly [title: string, text: string, href: string, label: string])[] => [
  [
    'Agents',
    'Buy a human decision, by MCP or HTTP, paid with USDC or a card.',
    '/llms.txt',
    'For language models',
  ],
  ['Workers', 'Every task states its pay and its length before you start.', '/work', 'See open tasks'],
  ['Operators', 'One program and PostgreSQL, on your own machines.', docsPath, 'Run it yourself'],
]

/** Who uses the service, and the first thing that each does. */
export const audiences = (options: AudienceOptions): Html =>
  html`<section aria-labelledby="uses">
    <h2 id="uses">Three ways to use it</h2>
    ${audienceList(options).map(
      ({ id, title, text, links, codeLabel, code }) =>
        html`<div class="who" id="${id}">
          <div>
            <h3>${title}</h3>
            <p class="muted gap">${text}</p>
            <p class="linkrow">${links.map(([href, label]) => html`<a href="${href}">${label}</a>`)}</p>
          </div>
          ${codeBlock(codeLabel, code)}
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
export const testKeySection = (baseUrl: string, freePerMonth: number): Html =>
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
        Live agents with a confirmed address have ${freePerMonth.toLocaleString('en')} free verifications a
        month, no card needed.
        <a href="/pricing">Pricing</a>
      </p>
    </div>
  </section>`
