import type { WebhookEndpoint } from '@pohf/protocol'
import type { ComponentChildren } from 'preact'
import { pluralize } from '../../shared/design/time.ts'
import { TrendLine } from '../../shared/plots/trend-line.tsx'
import { formatCount, formatShare } from '../../shared/plots/scale.ts'
import { isRunwayShort, runwayText } from '../usage/messages.ts'
import type { Usage } from '../wire.ts'

type TileProps = {
  readonly name: string
  readonly link?: readonly [text: string, href: string]
  readonly value: string
  readonly note: string
  readonly isBad?: boolean
  readonly children: ComponentChildren
}

const Tile = ({ name, link, value, note, isBad, children }: TileProps) => (
  <li class="card tile">
    <p class="muted tilehead">
      {name}
      {link ? (
        <a class="small" href={link[1]}>
          {link[0]}
        </a>
      ) : null}
    </p>
    <p class="num big">{value}</p>
    <p class={`small ${isBad ? 'bad' : 'muted'}`}>{note}</p>
    {children}
  </li>
)

/** The last 24 hours of an hourly series. */
export const lastDay = (hourly: Usage): Usage['series'] => hourly.series.slice(-24)
export const sumOf = (rows: Usage['series'], name: 'verified' | 'refused' | 'spent' | 'ended'): number =>
  rows.reduce((sum, row) => sum + row[name], 0)

const CreditsTile = ({ daily, now }: { daily: Usage; now: number }) => {
  const { available, spentPerDay, daysLeft } = daily.runway
  const rows = daily.series.slice(-14)
  // Back from what is left now: what was bought in between is not in the series.
  let left = available
  const past = rows
    .toReversed()
    .map(({ spent }) => {
      const value = left
      left += spent
      return value
    })
    .toReversed()
  const forecast =
    daysLeft === null
      ? []
      : Array.from({ length: 10 }, (_, day) => Math.max(0, available - (day + 1) * spentPerDay))
  return (
    <Tile
      name="Credits"
      link={['Buy', '#/usage']}
      value={formatCount(available)}
      note={runwayText(daily.runway, now)}
      isBad={isRunwayShort(daily.runway)}
    >
      <TrendLine values={past} forecast={forecast} tone="good" />
    </Tile>
  )
}

const WebhooksTile = ({ webhooks }: { webhooks: readonly WebhookEndpoint[] }) => {
  const hours = webhooks.flatMap(({ health }) => health)
  const delivered = hours.reduce((sum, hour) => sum + hour.delivered, 0)
  const failed = hours.reduce((sum, hour) => sum + hour.failed, 0)
  const failing = webhooks.filter(({ state }) => state !== 'healthy').length
  const note =
    webhooks.length === 0
      ? 'No endpoint yet'
      : failing > 0
        ? `${failing} of ${pluralize(webhooks.length, 'endpoint')} not healthy`
        : `${pluralize(webhooks.length, 'endpoint')}, healthy`
  return (
    <Tile
      name="Webhooks, 24 h"
      link={[webhooks.length === 0 ? 'Add' : 'Show', '#/webhooks']}
      value={delivered + failed === 0 ? '–' : formatShare(delivered / (delivered + failed))}
      note={note}
      isBad={failing > 0}
    >
      <span />
    </Tile>
  )
}

/** The four figures of the page. */
export const HomeTiles = (props: { hourly: Usage; daily: Usage; webhooks: readonly WebhookEndpoint[] }) => {
  const { hourly, daily, webhooks } = props
  const day = lastDay(hourly)
  const [verified, refused] = [sumOf(day, 'verified'), sumOf(day, 'refused')]
  return (
    <ul class="tiles plainlist" aria-label="Figures">
      <CreditsTile daily={daily} now={Date.now()} />
      <Tile
        name="Verified, 24 h"
        value={formatCount(verified)}
        note={`${formatCount(sumOf(hourly.series.slice(0, -24), 'verified'))} in the day before`}
      >
        <TrendLine values={day.map((row) => row.verified)} tone="good" />
      </Tile>
      <Tile
        name="Refused, 24 h"
        value={verified + refused === 0 ? '–' : formatShare(refused / (verified + refused))}
        note={`${pluralize(refused, 'session')}, not charged`}
      >
        <TrendLine values={day.map((row) => row.refused)} tone="bad" />
      </Tile>
      <WebhooksTile webhooks={webhooks} />
    </ul>
  )
}
