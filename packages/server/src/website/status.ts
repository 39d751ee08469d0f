import type { Page } from '../platform/http/call.ts'
import { html, type Html } from '../platform/http/html.ts'
import { acceptsHtml, languageOf, type Language } from '../platform/http/negotiation.ts'
import type { Clock } from '../platform/ops/clock.ts'
import { makeCachedReader, type CachedValue } from './cached-reader.ts'
import type { RenderWebsitePage } from './layout.ts'
import { messagesOf, type Messages } from './messages.ts'
import { partNames, type PartName, type PartState, type PartStates } from './rules.ts'

/** One reading serves all visitors for this long, so a flood of visits costs no statement. */
export const cacheSeconds = 15

type StatusReading = CachedValue<PartStates>

/** Reads the parts for all visitors together. */
export const makeStatusReader = (clock: Clock, readParts: () => Promise<PartStates>) =>
  makeCachedReader(clock, cacheSeconds, readParts)

const stateSigns: Readonly<Record<PartState, readonly [tone: string, sign: string]>> = {
  working: ['ok', '✓'],
  failing: ['stop', '✕'],
  unknown: ['warn', '?'],
  off: ['', '–'],
}

const isHealthy = (states: PartStates): boolean =>
  partNames.every((name) => states[name] === 'working' || states[name] === 'off')

const rowOf = (name: PartName, state: PartState, { parts, states }: Messages['status']): Html => {
  const [tone, sign] = stateSigns[state]
  return html`<li class="part">
    <span><b>${parts[name].name}</b> <span class="muted small block">${parts[name].text}</span></span>
    <span class="chip ${tone}"><span aria-hidden="true">${sign}</span>${states[state]}</span>
  </li>`
}

const bodyOf = ({ at, value: states }: StatusReading, language: Language): Html => {
  const messages = messagesOf(language).status
  const instant = at.toISOString()
  const [before = '', after = ''] = messages.at.replace('{seconds}', String(cacheSeconds)).split('{time}')
  return html`<div class="intro">
      <h1>${isHealthy(states) ? messages.allWork : messages.someFail}</h1>
      <p class="lead muted">${messages.lead}</p>
    </div>
    <ul class="card parts" aria-label="${messages.title}">
      ${partNames.map((name) => rowOf(name, states[name], messages))}
    </ul>
    <p class="faint small gap">
      ${before}<time datetime="${instant}">${instant.slice(11, 19)}</time>${after}
    </p>`
}

/** Plain lines for programs; load balancers use `/readyz`. */
const textOf = ({ at, value: states }: StatusReading): string =>
  [...partNames.map((name) => `${name}: ${states[name]}`), `checked: ${at.toISOString()}`, ''].join('\n')

/** The health of the parts, for people. */
export const statusPage = (render: RenderWebsitePage, read: () => Promise<StatusReading>): Page => ({
  path: '/status',
  handler: async (request) => {
    const reading = await read()
    if (!acceptsHtml(request.header('accept')))
      return { mediaType: 'text/plain; charset=utf-8', text: textOf(reading), headers: { vary: 'accept' } }
    const language = languageOf(request.query['lang'], request.header('accept-language'))
    const page = render({
      title: messagesOf(language).status.title,
      path: '/status',
      language,
      body: bodyOf(reading, language),
    })
    return { ...page, headers: { ...page.headers, vary: 'accept, accept-language' } }
  },
})
