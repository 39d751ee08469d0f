import type { Epoch } from '@pohf/protocol'
import { sufficiency } from '@pohf/verify/vhh'
import type { Page } from '../platform/http/call.ts'
import { html, type Html } from '../platform/http/html.ts'
import { indexPicture, indexTable, monthName, usd } from './index-picture.ts'
import type { CachedValue } from './cached-reader.ts'
import type { PageParts, RenderWebsitePage } from './layout.ts'
import { documentPath } from './doors.ts'

/** One reading serves all visitors for this long. */
export const indexCacheSeconds = 60

const whole = (value: number): string => Math.round(value).toLocaleString('en')

/** The value of the latest month, or what stands in its place. */
const figureOf = (latest: Epoch): Html => {
  const { value, carried } = latest
  if (value !== null)
    return html`<p>
      <span class="figure num">${usd(value)}</span>
      <span class="faint">for an hour, ${monthName(latest.epoch)}</span>
    </p>`
  return html`<p>
      <span class="figure">No value</span> <span class="faint">for ${monthName(latest.epoch)}</span>
    </p>
    <p class="muted small">
      ${
        carried
          ? html`Too few inputs. The last value was ${usd(carried.value)}, of ${monthName(carried.epoch)}.`
          : html`Too few inputs: a value needs ${sufficiency.hours} hours, ${sufficiency.clusters} funding
            clusters and ${sufficiency.workers} workers. No number is shown in its place.`
      }
    </p>`
}

const sampleOf = ({ inputs, method, publishedAt, revision = 1 }: Epoch): Html =>
  html`<dl class="facts">
    <div>
      <dt>Hours of work</dt>
      <dd class="num">${whole(inputs.hours)}</dd>
    </div>
    <div>
      <dt>Funding clusters</dt>
      <dd class="num">${whole(inputs.clusters)}</dd>
    </div>
    <div>
      <dt>Workers</dt>
      <dd class="num">${whole(inputs.workers)}</dd>
    </div>
    <div>
      <dt>Method</dt>
      <dd><code>${method}</code>${revision > 1 ? `, revision ${revision}` : ''}</dd>
    </div>
    <div>
      <dt>Signed</dt>
      <dd class="num">${publishedAt.slice(0, 10)}</dd>
    </div>
  </dl>`

const demoNote = html`<p class="card pad note">
  <span class="chip test">Generated data</span> This is a demonstration. Buyers, workers and prices on this
  page are made up from a seed; the method and the signatures are the real ones.
</p>`

const steps = [
  [
    'What counts',
    'Live work that a person did, that was recorded, accepted and paid in this month: units of orders and purchases.',
  ],
  [
    'What does not',
    'Test work, work that the operator paid for, work of related parties, disputed or refunded work, and work without a measured time.',
  ],
  [
    'One price for each pair',
    'What a funding cluster paid to have a worker’s hours: dollars divided by recorded hours.',
  ],
  [
    'No buyer weighs much',
    'Agents with the same account, address, network or wallet are one funding cluster. It counts with at most 5 % of all hours.',
  ],
  [
    'The middle',
    'Prices are sorted. The value is the one at which half of all weight is reached. Single high prices cannot pull it.',
  ],
] as const

const method = (docsPath: string): Html =>
  html`<section aria-labelledby="method">
    <h2 id="method">How it is computed</h2>
    <ol class="steps card">
      ${steps.map(([title, text]) => html`<li><b>${title}</b> <span class="muted small">${text}</span></li>`)}
    </ol>
    <p class="muted gap measure">
      A month is closed 24 hours after its end and signed. A correction is a new signed revision; the old one
      stays. Buyers that the service cannot connect count as several clusters.
      <a href="${documentPath(docsPath, 'guides/index-methodology')}"
        >The methodology, its limits and a simulation of attacks</a
      >
    </p>
  </section>`

const verifyCard = ({ epoch, status }: Epoch, baseUrl: string): Html =>
  html`<div class="card pad">
    <h2 class="h3">Do not believe us: compute it</h2>
    <p class="muted gap">
      ${
        status === 'final'
          ? html`Your browser downloads the signed month with its inputs, checks the signature against the
            public keys and the inputs against the signed root, and computes the value again.`
          : html`Your browser checks the signature of this month against the public keys.`
      }
    </p>
    <p class="cta gap">
      <button class="btn main" type="button" id="verify-epoch" data-epoch="${epoch}">
        Verify ${monthName(epoch)}
      </button>
      <a class="btn" href="/api/index/vhh/inputs?epoch=${epoch}" download="vhh-${epoch}.json"
        >Download, signed</a
      >
    </p>
    <ul class="checks gap" id="verify-result" aria-live="polite"></ul>
    <p class="faint small gap">
      Offline: <code>pohf index verify vhh-${epoch}.json --issuer ${baseUrl} --jwks jwks.json</code>
    </p>
    <noscript
      ><p class="small">The button needs JavaScript. The download and the command work without.</p></noscript
    >
  </div>`

type PageOptions = { readonly docsPath: string; readonly baseUrl: string }

const bodyOf = (history: readonly Epoch[], latest: Epoch, { docsPath, baseUrl }: PageOptions): Html =>
  html`<div class="intro">
      <h1>What an hour of verified human work costs</h1>
      <p class="lead muted">
        VHH, the Verified Human Hour: a monthly reference rate in US dollars from work that buyers paid for.
        It is signed, and anybody can compute it again.
      </p>
    </div>
    ${latest.demo === true ? demoNote : html``}
    <div class="two">
      <div class="card pad">${figureOf(latest)} ${sampleOf(latest)}</div>
      ${verifyCard(latest, baseUrl)}
    </div>
    <section aria-labelledby="history">
      <h2 id="history">By month</h2>
      <div class="card pad gap">
        ${
          history.some(({ value }) => value !== null)
            ? indexPicture(history)
            : html`<p class="muted">No month has a value yet.</p>`
        }
        ${indexTable(history)}
      </div>
    </section>
    ${method(docsPath)}
    <section class="two">
      <div class="card pad">
        <h2 class="h3">For programs</h2>
        <p class="muted gap">
          The latest month is free. The running month, categories and history need a key.
        </p>
        <p class="linkrow"><a href="/api/index/vhh">The latest month</a><a href="/api/index">All codes</a></p>
      </div>
      <div class="card pad">
        <h2 class="h3">Reserve hours of a later month</h2>
        <p class="muted gap">
          A forward is a request for prepaid hours of a later month at a price that refers to this index. It
          is not transferable, not resellable and never settled in cash.
        </p>
        <p class="linkrow"><a href="${documentPath(docsPath, 'guides/forwards')}">How forwards work</a></p>
      </div>
    </section>`

const partsOf = (history: readonly Epoch[], options: PageOptions): PageParts => {
  const latest = history.at(-1)
  return {
    title: 'The VHH index',
    path: '/vhh',
    description:
      'What an hour of verified human work costs: a signed monthly rate that anybody can compute again.',
    scripts: [html`<script type="module" src="/assets/vhh.js"></script>`],
    body: latest
      ? bodyOf(history, latest, options)
      : html`<div class="intro"><h1>The index has no month yet</h1></div>`,
  }
}

/** The index, for people. */
export const indexPage = (
  render: RenderWebsitePage,
  options: PageOptions,
  read: () => Promise<CachedValue<readonly Epoch[]>>,
): Page => ({
  path: '/vhh',
  handler: async () => {
    const page = render(partsOf((await read()).value, options))
    return { ...page, headers: { ...page.headers, 'cache-control': 'no-cache' } }
  },
})
