import type { ForgingFile } from '@pohf/protocol'
import { statementOf } from '@pohf/protocol/statements'
import { html, type Html } from '../platform/http/html.ts'
import type { Config } from '../platform/ops/config.ts'
import type { Branding } from './branding.ts'
import type { PageParts } from './layout.ts'
import {
  assuranceChip,
  compareRates,
  comparedSeconds,
  errorRatePicture,
  errorRates,
  pricePicture,
} from './pictures.ts'
import { codeBlock, testKeySection, usesSection } from './uses.ts'

export type LandingOptions = {
  readonly config: Config
  readonly branding: Branding
  readonly forging: ForgingFile
  readonly docsPath: string
  /** The agent whose check visitors can try. */
  readonly demoSite: string | undefined
}

const whole = (value: number): string => value.toLocaleString('en')
/** With a space at which no line breaks. */
const percent = (value: number): string => `${value.toFixed(1)}\u00a0%`

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

/** What stands behind the credential of the example. */
const [exampleAtLow = ''] = statementOf({
  kind: 'view',
  agent: '',
  roots: [{ kind: 'network', class: 'address', counted: false, fresh: true, at: 0 }],
}).behind

const hero = (options: LandingOptions): Html => {
  const { branding, docsPath } = options
  return html`<div class="hero">
    <div>
      <h1>${branding.headline}</h1>
      <p class="lead muted">${branding.lead}</p>
      <p class="cta">
        <a class="btn main" href="#key">Get a test key</a><a class="btn" href="${docsPath}">Read the docs</a>
      </p>
      <p class="faint small gap">
        A test key is free and works at once: in five minutes you hold a credential that you verified. No
        cookies here, no account for visitors, no request to third parties.
      </p>
    </div>
    <div class="card try">
      ${tryIt(options)}
      <div class="got" id="result" aria-live="polite">
        <span class="emblem none" id="seal"></span>
        <div>
          <p class="chips"><span class="chip" id="result-tag">Example</span>${assuranceChip('low')}</p>
          <p class="h3" id="result-title">A visitor passed the check.</p>
          <p class="muted small" id="result-text">
            Each seal is drawn from an id. A credential never says who the person is. At <code>low</code>:
            ${exampleAtLow}
          </p>
        </div>
      </div>
    </div>
  </div>`
}

const steps = [
  ['Somebody acts', 'in your page, or on the request of an agent'],
  ['The check watches', 'focus, motion, timing, and a question that needs sight or reading'],
  ['The server decides', 'scores the session, spends a scarce root, signs'],
  ['You hold a credential', 'an ES256 JWT with its assurance'],
  ['Anybody verifies', 'offline, with public keys, status list and price table'],
] as const

const howItWorks = html`<section aria-labelledby="how">
  <h2 id="how">How it works</h2>
  <ol class="steps card">
    ${steps.map(
      ([title, text]) =>
        html`<li>
          <b>${title}</b>
          <span class="muted small">${text}</span>
        </li>`,
    )}
  </ol>
</section>`

/** The worst families of each kind of motion, in words. */
const rateSummary = (): Html => {
  const rows = compareRates(errorRates)
  const worst = (isHumanMotion: boolean) =>
    rows.find(({ short }) => short.isHumanMotion === isHumanMotion)?.short
  const [human, generated] = [worst(true), worst(false)]
  if (!human || !generated) return html``
  return html`Motion that a program computes can be distinguished from that of people: after
    ${comparedSeconds.short} s, the worst family has an equal error rate of ${percent(generated.equalError)}.
    Motion that people made and a program replays cannot: ${percent(human.equalError)}. So motion alone never
    earns more than <code>low</code>.`
}

/** What this many forgeries in a day need with the budgets of this deployment. A budget of 0 admits none. */
const needs = ({ config, forging }: LandingOptions): Html => {
  const needed = (perDay: number, thing: string): string =>
    perDay === 0 ? 'cannot be had' : `${whole(Math.ceil(forging.perDay / perDay))} ${thing}`
  const rows = [
    ['low', needed(config.ROOT_NETWORK_PER_DAY, 'networks')],
    ['substantial', needed(config.ROOT_DEVICE_PER_DAY, 'keys of devices')],
    ['high', needed(config.ROOT_ACCOUNT_PER_DAY, 'people')],
  ] as const
  if (!config.rootBudgets)
    return html`<p class="small gap muted">
      Budgets of networks, devices and accounts, which limit how many forgeries one attacker gets, are off on
      this deployment.
    </p>`
  return html`<table class="needs">
    <thead>
      <tr>
        <th scope="col">${whole(forging.perDay)} forged in a day need at least</th>
        <th scope="col" class="num">Needed</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ([assurance, text]) =>
          html`<tr>
            <td>${assuranceChip(assurance)}</td>
            <td class="num">${text}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

const evidence = (options: LandingOptions): Html => {
  const { forging, docsPath } = options
  const people = errorRates.find(({ seconds }) => seconds === comparedSeconds.short)?.peopleWindows ?? 0
  return html`<section id="evidence" aria-labelledby="evidence-title">
    <h2 id="evidence-title">We publish what we get wrong</h2>
    <p class="muted measure">${rateSummary()}</p>
    <div class="two">
      <div class="card pad">
        <h3>Error rates by attack</h3>
        <p class="muted small">
          Equal error rate in percent, after ${comparedSeconds.short} s of motion (●) and
          ${comparedSeconds.long} s (○). Grey: 95 % interval.
        </p>
        ${errorRatePicture(errorRates)}
        <p class="faint small gap">
          ${whole(people)} windows of people whom the model never saw. A script without a browser sends what
          motion it likes, or none: it gets <code>low</code>.
        </p>
      </div>
      <div class="card pad">
        <h3>What a forgery costs</h3>
        <p class="muted small">
          US dollars for 1,000 forged credentials by the cheapest way we know. Logarithmic.
        </p>
        ${pricePicture(forging)}
        <p class="faint small gap">
          Table of ${forging.date}, an estimate and no warranty; cheaper ways may exist. It is
          <a href="/.well-known/pohf-forging.json">signed</a>, and verifiers apply it themselves.
          <a href="${docsPath}">How we price an attack</a>
        </p>
        ${needs(options)}
      </div>
    </div>
  </section>`
}

const states = [
  'That one act happened, when, and for which site or agent',
  'What was measured of the attention, and what answered in the act',
  'Its assurance, for which a price of forgery is published',
  'That it was not altered since, and whether it was revoked',
] as const
const limits = [
  'Who the person is. There is no name in it',
  'That they understood, liked or believed what they saw',
  'That their answer is true or their work is good',
  'That they have no second credential, below high assurance',
] as const

const listOf = (kind: 'yes' | 'no', lines: readonly string[]): Html =>
  html`<ul class="checks">
    ${lines.map(
      (line) =>
        html`<li class="${kind}">
          <span class="sign" aria-hidden="true">${kind === 'yes' ? '✓' : '–'}</span>${line}
        </li>`,
    )}
  </ul>`

const limitsSection = html`<section aria-labelledby="limits">
  <h2 id="limits">What a credential tells you</h2>
  <div class="two">
    <div class="card pad">
      <h3>A credential states</h3>
      ${listOf('yes', states)}
    </div>
    <div class="card pad">
      <h3>A credential does not prove</h3>
      ${listOf('no', limits)}
    </div>
  </div>
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
    body: html`${hero(options)} ${usesSection({ baseUrl: config.BASE_URL, docsPath })} ${howItWorks}
    ${evidence(options)} ${limitsSection} ${testKeySection(config.BASE_URL)}`,
  }
}
