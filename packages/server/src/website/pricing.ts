import { freeSealsPerMonth, packNames, packs, type PackName } from '@pohf/protocol'
import { html, type Html } from '../platform/http/html.ts'
import type { Config } from '../platform/ops/config.ts'
import type { PageParts } from './layout.ts'

export type PricingOptions = {
  readonly config: Pick<Config, 'REFERENCE_USD_PER_HOUR'>
  /** Whether a live pack can be paid here. */
  readonly acceptsCards: boolean
}

const whole = (value: number): string => value.toLocaleString('en')
/** Dollars for one credit, to the cent where it is one. */
const perCredit = (name: PackName): string =>
  (packs[name].priceUsd / packs[name].credits).toLocaleString('en', {
    minimumFractionDigits: 2,
    maximumFractionDigits: 4,
  })

/** The page of the console that sells packs; it asks for a sign-in first. */
const billingPath = '/console#/usage'

const packCard = (name: PackName): Html => {
  const { credits, priceUsd } = packs[name]
  return html`<li class="card pad pack">
    <h2 class="h3">${whole(credits)} credits</h2>
    <p><span class="figure num">$${whole(priceUsd)}</span> <span class="faint">once</span></p>
    <p class="muted small num">$${perCredit(name)} for each verification. Credits do not expire.</p>
    <a class="btn" href="${billingPath}"
      >Buy ${whole(credits)} credits<span class="hidden"> for ${whole(priceUsd)} US dollars</span></a
    >
  </li>`
}

const freeCard = (): Html =>
  html`<li class="card pad pack">
    <h2 class="h3">Free plan</h2>
    <p><span class="figure num">$0</span> <span class="faint">a month</span></p>
    <p class="muted small">
      ${whole(freeSealsPerMonth)} verifications in each month, for a live agent with a confirmed address. No
      card needed.
    </p>
    <a class="btn main" href="/console#/home">Start free</a>
  </li>`

const noCards = html`<p class="card pad note">
  <span class="chip warn">No card provider</span> This deployment takes no cards: a live pack cannot be paid
  here, and nothing is charged. With a test key, packs are added at once and cost nothing.
</p>`

const questions = [
  [
    'What is charged?',
    'One credit for each credential that is minted. A refused session costs nothing, and a repeated call returns the same credential and costs nothing more.',
  ],
  [
    'What is free?',
    'Everything in test mode, verification of credentials by anybody, and the check itself: visitors never pay.',
  ],
  [
    'Do free verifications add up?',
    'No. Unused ones end with their month. They are spent before credits. The number of free plans for one mail domain and network is limited.',
  ],
  [
    'Can I get a refund?',
    'A refund takes back the credits of the same part of the price. An operator decides.',
  ],
] as const

/** What the service sells. */
export const pricing = ({ config, acceptsCards }: PricingOptions): PageParts => ({
  title: 'Pricing',
  path: '/pricing',
  description: `One verification costs one credit. ${whole(freeSealsPerMonth)} a month are free.`,
  body: html`<div class="intro">
      <h1>One verification costs one credit. ${whole(freeSealsPerMonth)} a month are free.</h1>
      <p class="lead muted">
        No subscription. Credits are paid in advance, and a refused session costs nothing.
      </p>
    </div>
    ${acceptsCards ? html`` : noCards}
    <ul class="packs">
      ${freeCard()} ${packNames.map(packCard)}
    </ul>
    <section class="two">
      <div class="card pad">
        <h2 class="h3">Human work is paid by the task</h2>
        <p class="muted gap">
          Orders for human work have a price of their own. Where a workflow has none, it is
          ${whole(config.REFERENCE_USD_PER_HOUR)} US dollars for an hour of work. Every task states its pay to
          the worker.
        </p>
        <p class="linkrow">
          <a href="/console#/orders">Order work</a
          ><a href="/api/workflows/available">All workflows with prices</a>
        </p>
      </div>
      <div class="card pad">
        <h2 class="h3">Try it for free</h2>
        <p class="muted gap">
          A test key takes a minute. Test credentials are marked as such; packs in test mode are added at once
          and cost nothing.
        </p>
        <p class="linkrow"><a href="/#key">Get a test key</a></p>
      </div>
    </section>
    <section aria-labelledby="questions">
      <h2 id="questions">Questions</h2>
      <dl class="questions">
        ${questions.map(
          ([question, answer]) =>
            html`<div>
              <dt>${question}</dt>
              <dd class="muted">${answer}</dd>
            </div>`,
        )}
      </dl>
    </section>`,
})
