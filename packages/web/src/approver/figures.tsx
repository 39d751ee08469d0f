import { useEffect, useRef } from 'preact/hooks'
import { fillPlaceholders } from '../shared/design/fill-placeholders.ts'
import { useQuery } from '../shared/person/use-query.tsx'
import { call } from './api.ts'
import { Name } from './approval/fields.tsx'
import { durationText } from './format.ts'
import type { Messages, PageContext } from './messages.ts'
import type { OwnFigures } from './wire.ts'

const shareText = ({ figures }: Messages, { n, of }: { readonly n: number; readonly of: number }): string =>
  of === 0 ? figures.none : fillPlaceholders(figures.share, { n, of })

const rowsOf = (messages: Messages, { figures }: OwnFigures): (readonly [string, string])[] => {
  const texts = messages.figures
  const { decisions: n, approved, denied, medianSecondsInView: seconds } = figures
  return [
    [texts.decisions, n === 0 ? texts.none : fillPlaceholders(texts.decisionsOf, { n, approved, denied })],
    [texts.caught, shareText(messages, figures.caught)],
    [texts.fast, shareText(messages, figures.fast)],
    [texts.time, seconds === null ? texts.none : durationText(messages, seconds * 1_000)],
  ]
}

/** The person's own figures. A failure to load them is no reason to hide the list, so they are left out then. */
export const FiguresCard = ({ page: { messages } }: { page: PageContext }) => {
  const loaded = useQuery(() => call<OwnFigures>('GET', 'figures'))
  const section = useRef<HTMLElement>(null)
  const own = loaded.value
  useEffect(() => {
    if (own && location.hash === '#figures') section.current?.scrollIntoView()
  }, [own === undefined])
  if (!own) return null
  return (
    <section class="card pad" id="figures" ref={section} aria-labelledby="figures-title">
      <h2 class="h3" id="figures-title">
        {messages.figures.title}
      </h2>
      <p class="muted small">{messages.figures.lead}</p>
      <dl class="facts">
        {rowsOf(messages, own).map(([label, text]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class="num">{text}</dd>
          </div>
        ))}
      </dl>
      {own.knownBad.length === 0 ? null : (
        <>
          <h3 class="small muted">{messages.figures.knownBad}</h3>
          <ul class="q">
            {own.knownBad.map((one) => (
              <li key={one.approvalId}>
                <span>
                  <Name text={one.title ?? one.approvalId} />
                  <br />
                  <span class="small muted">
                    <Name text={one.reason} />
                  </span>
                </span>
                <span class={`chip ${one.decision === 'deny' ? 'ok' : 'stop'}`}>
                  {messages.states[one.decision]}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}
