import type { ForgingFile } from '@pohf/protocol'
import {
  answers,
  neverLive,
  operators,
  proves,
  provesNot,
  reasons,
  sentenceStart,
} from '@pohf/protocol/story'
import { html, type Html } from '../platform/http/html.ts'
import type { Config } from '../platform/ops/config.ts'
import { ownTexts, type Branding } from './branding.ts'
import { codeBlock, documentPath, doorsSection, withCode } from './doors.ts'
import type { PageParts } from './layout.ts'
import { assuranceChip, rootTable } from './roots.ts'
import { testKeySection } from './test-key.ts'

export type LandingOptions = {
  readonly config: Config
  readonly branding: Branding
  readonly forging: ForgingFile
  readonly docsPath: string
  /** The agent whose check visitors can try. */
  readonly demoSite: string | undefined
}

const tryIt = ({ demoSite, config }: LandingOptions): Html =>
  demoSite === undefined
    ? html`<div class="pad">
        <p class="h3">Try the check on your own machine</p>
        <p class="muted small gap">
          This starts the service with a sample site that has the check in a form:
        </p>
        ${codeBlock('Command for a sample site', 'npm ci && npm run dev')}
        <p class="muted small gap">
          Do you run this service? Set <code>DEMO_SITE=platform</code> and start it again. The check is then
          here.
        </p>
      </div>`
    : html`<div class="widget">
        <pohf-check site="${demoSite}" base-url="${config.BASE_URL}"></pohf-check>
        <noscript
          ><p class="pad">
            The check needs JavaScript. Everything else on this page works without.
          </p></noscript
        >
      </div>`

/** The first screen answers what a reader asks first, in the words of the README. */
const hero = (options: LandingOptions): Html => {
  const { branding, docsPath } = options
  const isOwn = branding.headline === ownTexts.headline
  return html`<div class="hero">
    <div>
      ${isOwn ? html`<p class="kicker">${branding.name} ${sentenceStart}</p>` : html``}
      <h1>${branding.headline}</h1>
      <p class="lead muted">${branding.lead}</p>
      <p class="cta">
        <a class="btn main" href="#key">Get a test key</a><a class="btn" href="${docsPath}">Read the docs</a>
      </p>
      <p class="muted small gap">${withCode(answers.cost)}</p>
      <p class="muted small gap">${answers.limit}</p>
    </div>
    <div class="card try">
      ${tryIt(options)}
      <div class="got" id="result" aria-live="polite">
        <span class="emblem none" id="seal"></span>
        <div>
          <p class="chips"><span class="chip" id="result-tag">Example</span>${assuranceChip('low')}</p>
          <p class="h3" id="result-title">A visitor passed the check.</p>
          <p class="muted small" id="result-text">Each seal is drawn from an id.</p>
        </div>
      </div>
    </div>
  </div>`
}

const why = ({ name }: Branding): Html =>
  html`<section class="why" aria-label="Why it exists">
    ${reasons.map((reason) => html`<p>${reason.replaceAll(ownTexts.name, name)}</p>`)}
  </section>`

const listOf = (kind: 'yes' | 'no', lines: readonly string[]): Html =>
  html`<ul class="checks">
    ${lines.map(
      (line) =>
        html`<li class="${kind}">
          <span class="sign" aria-hidden="true">${kind === 'yes' ? '✓' : '–'}</span>${line}
        </li>`,
    )}
  </ul>`

/** What the service says about itself: proof, cost, limits, and what was never run live. */
const itself = ({ forging, docsPath }: LandingOptions): Html =>
  html`<section aria-labelledby="itself">
    <h2 id="itself">What it says about itself</h2>
    <div class="stack rows">
      <div class="card pad">
        <h3>What a credential proves</h3>
        ${listOf('yes', proves)}
      </div>
      <div class="card pad">
        <h3 id="costs">What a forgery costs today</h3>
        <p class="muted small">
          US dollars for 1,000 forged views, by the cheapest way we know. <em>People</em> are distinct
          subjects of one agent.
        </p>
        ${rootTable(forging)}
        <p class="faint small gap">
          An estimate of ${forging.date} and no warranty; cheaper ways may exist. The table is
          <a href="/.well-known/pohf-forging.json">signed</a>, and your verifier refuses what is too cheap.
          <a href="${documentPath(docsPath, 'guides/forging')}">What to require for what</a>
        </p>
      </div>
      <div class="two">
        <div class="card pad">
          <h3>What it does not prove</h3>
          ${listOf('no', provesNot)}
        </div>
        <div class="card pad">
          <h3>What was never run live</h3>
          ${listOf('no', neverLive)}
          <p class="linkrow"><a href="${documentPath(docsPath, 'limits')}">All limits, and bad figures</a></p>
        </div>
      </div>
    </div>
  </section>`

const operate = (docsPath: string): Html =>
  html`<section aria-labelledby="operate">
    <h2 id="operate">Run it yourself</h2>
    ${operators.map((line) => html`<p class="measure">${withCode(line)}</p>`)}
    <p class="linkrow">
      <a href="${documentPath(docsPath, 'quickstart/operator')}">Quick start for operators</a>
      <a href="/verify">Verify a credential</a><a href="/llms.txt">For language models</a>
    </p>
  </section>`

/** The page for a browser that opens the address of the service. */
export const landing = (options: LandingOptions): PageParts => {
  const { branding, config, docsPath, demoSite } = options
  return {
    title: `${branding.name}: ${branding.headline}`,
    path: '/',
    scripts: [
      html`<script type="module" src="/assets/landing.js"></script>`,
      ...(demoSite === undefined ? [] : [html`<script async src="/check.js"></script>`]),
    ],
    body: html`${hero(options)} ${why(branding)} ${doorsSection(docsPath)} ${itself(options)}
    ${testKeySection(config.BASE_URL)} ${operate(docsPath)}`,
  }
}
