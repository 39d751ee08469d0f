import { probesText } from '@pohf/protocol/probes'
import { reasonText } from '@pohf/protocol/reasons'
import { priceText, sentencesOf, type Statement } from '@pohf/protocol/statements'
import type { Claims, Result } from '@pohf/verify'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { CopyId } from '../shared/design/copy-id.tsx'
import { useDigest } from '../shared/design/digest.ts'
import { Seal } from '../shared/design/seal.tsx'
import { CheckList } from '../shared/credential/check-list.tsx'
import { allChecks, claimFacts, summarizeChecks, type Outcome } from '../shared/credential/outcome.ts'
import { EnvelopeCard } from './envelope-card.tsx'
import { RecomputeCard } from './recompute-card.tsx'
import type { ForgingPrice } from '../shared/credential/check.ts'
import { componentNames, decimals, limitsOf } from '../shared/credential/messages.ts'

const Measurements = ({ claims }: { readonly claims: Claims }) => {
  const measured = Object.entries(claims.components ?? {}).flatMap(([name, value]) =>
    value === null ? [] : [{ name: componentNames[name] ?? name, value }],
  )
  const missing = Object.entries(claims.components ?? {})
    .filter(([, value]) => value === null)
    .map(([name]) => (componentNames[name] ?? name).toLowerCase())
  const asked = claims.probes && probesText(claims.probes)
  return (
    <section class="card pad" aria-labelledby="measured">
      <h2 class="h3" id="measured">
        {claims.test ? 'What it pretends the session showed' : 'What the session showed'}
      </h2>
      {measured.length === 0 ? null : (
        <dl class={`bars ${claims.test ? 'test' : ''}`}>
          {measured.map(({ name, value }) => (
            <div key={name} class="bar">
              <dt class="muted">{name}</dt>
              <dd class="track" style={{ '--v': `${Math.round(value * 100)}%` }} aria-hidden="true" />
              <dd class="num">{decimals(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      <p class="gap small muted">
        What the scorer{claims.scoring === undefined ? '' : ` ${claims.scoring}`} saw in the recording. It is
        no measure of how much was taken in.
      </p>
      {asked === undefined ? null : <p class="small">{asked}</p>}
      {missing.length > 0 ? <p class="faint small">Not measured: {missing.join(', ')}.</p> : null}
      {claims.flags && claims.flags.length > 0 ? (
        <p class="small">Flags: {claims.flags.map(reasonText).join('; ')}.</p>
      ) : null}
    </section>
  )
}

const Limits = ({ claims }: { claims: Claims }) => (
  <section class="card pad" aria-labelledby="limits">
    <h2 class="h3" id="limits">
      What this does not prove
    </h2>
    <ul class="limits">
      {limitsOf(claims).map((limit) => (
        <li key={limit}>{limit}</li>
      ))}
    </ul>
  </section>
)

const Price = ({ price }: { price: ForgingPrice }) => (
  <section class="card pad" aria-labelledby="price">
    <h2 class="h3" id="price">
      What a forgery costs
    </h2>
    <p class="gap">{'unknown' in price ? `${priceText(undefined)} ${price.unknown}` : priceText(price)}</p>
  </section>
)

const Facts = ({ claims }: { claims: Claims }) => (
  <section class="card pad" aria-labelledby="claims">
    <h2 class="h3" id="claims">
      Claims
    </h2>
    <dl class="facts">
      {claimFacts(claims).map(([label, value, form]) => (
        <div key={`${label} ${value}`}>
          <dt>{label}</dt>
          <dd class="num">{form === 'id' ? <CopyId value={value} label={label} /> : value}</dd>
        </div>
      ))}
    </dl>
    <details>
      <summary>All claims, as signed</summary>
      <pre tabIndex={0}>{JSON.stringify(claims, null, 2)}</pre>
    </details>
  </section>
)

type VerificationResult = {
  readonly outcome: Outcome
  readonly result: Result
  readonly price: ForgingPrice | undefined
  /** The same in German. */
  readonly german: Statement | undefined
  readonly nowSeconds: number
  readonly issuer: string
}

/** What stands behind it, and how much of it was taken in. */
const Behind = ({ statement }: { statement: Statement }) => (
  <ul class="behind">
    {sentencesOf(statement)
      .slice(1)
      .map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
  </ul>
)

const Hero = ({ shown, onRetry }: { shown: VerificationResult; onRetry: () => void }) => {
  const { outcome, result } = shown
  const heading = useRef<HTMLHeadingElement>(null)
  const bytes = useDigest(outcome.claims?.jti)
  // The focus moves to a new result, and stays where it is when the list changes the colour of this one.
  useEffect(() => heading.current?.focus(), [result])
  return (
    <section class="card pad hero" aria-labelledby="says">
      <div class={`emblem ${outcome.tone}`}>
        <Seal bytes={bytes} state={outcome.seal} />
      </div>
      <div>
        <p class="chips">
          <span class={`chip ${outcome.tone}`}>{outcome.chip}</span>
          {outcome.claims ? (
            <>
              <span class="chip">{outcome.claims.kind}</span>
              <span class="chip">assurance {outcome.claims.assurance}</span>
            </>
          ) : null}
        </p>
        <h1 id="says" ref={heading} tabIndex={-1}>
          {outcome.headline}
        </h1>
        <p class="muted lead">
          {outcome.claims ? (
            <>
              Signed by <b class="issuer">{shown.issuer}</b>.{' '}
            </>
          ) : null}
          {outcome.lead}
        </p>
        {outcome.statement ? <Behind statement={outcome.statement} /> : null}
        {shown.german ? (
          <details lang="de">
            <summary>Auf Deutsch</summary>
            <p class="gap">{shown.german.seen}</p>
            <Behind statement={shown.german} />
          </details>
        ) : null}
        {outcome.mayRetry ? (
          <p class="gap">
            <button type="button" class="btn" onClick={onRetry}>
              Check again
            </button>
          </p>
        ) : null}
      </div>
    </section>
  )
}

type ResultViewProps = {
  readonly shown: VerificationResult
  readonly onRetry: () => void
  readonly another: ComponentChildren
  readonly list: ComponentChildren
}

/** The answer, from the sentence down to the last claim, and the way to the next one. */
export const ResultView = ({ shown, onRetry, another, list }: ResultViewProps) => {
  const { outcome, result, price, nowSeconds } = shown
  const { claims } = outcome
  const quality = claims?.quality
  return (
    <>
      <Hero shown={shown} onRetry={onRetry} />
      <div class="grid">
        {claims && quality !== undefined ? <Measurements claims={claims} /> : null}
        <section class="card pad" aria-labelledby="checked">
          <h2 class="h3" id="checked">
            Checked here, in your browser
          </h2>
          <CheckList lines={summarizeChecks(result.checks, claims, nowSeconds)} />
          <details>
            <summary>Every check, one by one</summary>
            <CheckList lines={allChecks(result.checks)} />
          </details>
        </section>
        {claims ? <Facts claims={claims} /> : null}
        {claims ? <Limits claims={claims} /> : null}
        {price ? <Price price={price} /> : null}
        {claims?.approval ? <EnvelopeCard key={claims.jti} approval={claims.approval} /> : null}
        {claims?.telemetry?.alg === 'sha256-chain-v1' && quality !== undefined ? (
          <RecomputeCard key={claims.jti} claims={claims} />
        ) : null}
        <section class={`card pad ${quality === undefined ? '' : 'wide'}`} aria-labelledby="another">
          <h2 class="h3" id="another">
            Another one
          </h2>
          <p class="muted gap">The page fetches only keys, the status list and the price table.</p>
          {another}
        </section>
        {list}
      </div>
    </>
  )
}
