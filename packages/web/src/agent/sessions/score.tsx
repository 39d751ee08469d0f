import { reasonText } from '@pohf/protocol/reasons'
import { formatUnit } from '../../shared/plots/scale.ts'
import type { Session } from '../wire.ts'
import { waterfallOf, type WaterfallStep } from './waterfall.ts'
import '../../shared/plots/plots.css'

/** What the quality must reach, as the rules have it. */
const minimum = 0.6

const StepBar = ({ from, to }: { from: number; to: number }) => {
  const [low, high] = [Math.min(from, to), Math.max(from, to)]
  return (
    <svg class="plot step" height="20" aria-hidden="true">
      <line class="threshold faint-line" x1={`${minimum * 100}%`} x2={`${minimum * 100}%`} y1="0" y2="20" />
      <rect class="p0" x="0" width={`${low * 100}%`} y="6" height="8" rx="2" />
      <rect
        class={to < from ? 'pw' : 'p1'}
        x={`${low * 100}%`}
        width={`${Math.max(0.4, (high - low) * 100)}%`}
        y="4"
        height="12"
        rx="2"
      />
    </svg>
  )
}

const StepRow = ({ step }: { step: WaterfallStep }) => (
  <tr>
    <th scope="row">
      <b>{step.name.replaceAll('_', ' ')}</b>
      <span class="small muted block">{step.measured === null ? reasonText(step.name) : step.why}</span>
    </th>
    <td class="num">{step.measured === null ? 'limit' : formatUnit(step.measured)}</td>
    <td class="bar-cell wide-only">
      <StepBar from={step.from} to={step.to} />
    </td>
    <td class="num">{formatUnit(step.to)}</td>
  </tr>
)

const Waterfall = ({ steps, quality }: { steps: readonly WaterfallStep[]; quality: number }) => (
  <table class="waterfall">
    <thead>
      <tr>
        <th scope="col">Part</th>
        <th scope="col" class="num">
          Measured
        </th>
        <th scope="col" class="bar-cell wide-only">
          0 to 1, minimum {formatUnit(minimum)}
        </th>
        <th scope="col" class="num">
          Quality after
        </th>
      </tr>
    </thead>
    <tbody>
      {steps.map((step) => (
        <StepRow key={step.name} step={step} />
      ))}
    </tbody>
    <tfoot>
      <tr>
        <th scope="row">
          <b>Quality</b>
        </th>
        <td />
        <td class="bar-cell wide-only">
          <svg class="plot step" height="20" aria-hidden="true">
            <line class="threshold" x1={`${minimum * 100}%`} x2={`${minimum * 100}%`} y1="0" y2="20" />
            <rect
              class={quality < minimum ? 'ps' : 'p1'}
              x="0"
              width={`${quality * 100}%`}
              y="4"
              height="12"
              rx="2"
            />
          </svg>
        </td>
        <td class="num">
          <b>{formatUnit(quality)}</b>
        </td>
      </tr>
    </tfoot>
  </table>
)

const Parts = ({ session }: { session: Session }) => (
  <dl class="facts">
    {Object.entries(session.components ?? {}).map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd class="num">{value === null ? 'not measured' : formatUnit(value)}</dd>
      </div>
    ))}
  </dl>
)

/** How the score of a session came about. */
export const ScoreCard = ({ session }: { session: Session }) => {
  const { components, quality, flags } = session
  if (components === null || quality === null) return null
  const steps = waterfallOf(components, flags, quality)
  return (
    <section class="card pad" aria-labelledby="score">
      <h2 class="h3" id="score">
        How the score came about
      </h2>
      <p class="muted gap">
        {steps
          ? 'The quality begins at 1. Each part multiplies it by its value, as strongly as its weight says; a flag limits it.'
          : `This page does not know the rules ${session.scoring ?? 'of this score'}, so it shows only the parts.`}
      </p>
      {steps ? <Waterfall steps={steps} quality={quality} /> : <Parts session={session} />}
    </section>
  )
}

/** Why a session was refused, and what was noticed. */
export const ReasonsCard = ({ session }: { session: Session }) => {
  const codes = [...new Set([...session.reasons, ...session.flags.map((flag) => `flag_${flag}`)])]
  if (codes.length === 0) return null
  return (
    <section class="card pad" aria-labelledby="reasons">
      <h2 class="h3" id="reasons">
        {session.verified === false ? 'Why it was refused' : 'What was noticed'}
      </h2>
      <ul class="checks">
        {codes.map((code) => (
          <li key={code}>
            <span class="sign bad" aria-hidden="true">
              {session.reasons.includes(code) ? '✗' : '!'}
            </span>
            <span>
              {reasonText(code).replace(/^./, (letter) => letter.toUpperCase())}
              <code class="small faint block">{code}</code>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
