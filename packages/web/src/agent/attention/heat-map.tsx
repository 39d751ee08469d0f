import { AsTable } from '../../shared/plots/as-table.tsx'
import { formatCount } from '../../shared/plots/scale.ts'
import type { Attention } from '../wire.ts'
import { levelOf } from './findings.ts'

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const
const hours = Array.from({ length: 24 }, (_, hour) => hour)
const step = 33

type Cell = Attention['heat'][number]

const twoDigits = (hour: number): string => String(hour).padStart(2, '0')

/** The hour with most verified views, in words. */
const busiestText = (heat: readonly Cell[]): string => {
  const [busiest] = heat.toSorted((a, b) => b.verified - a.verified)
  if (!busiest || busiest.verified === 0) return 'No verified view.'
  return `Most verified views on ${weekdays[busiest.weekday - 1]} from ${twoDigits(busiest.hour)}:00: ${formatCount(busiest.verified)}.`
}

type CellOf = (weekday: number, hour: number) => Cell

const Cells = ({ cellOf, most, label }: { cellOf: CellOf; most: number; label: string }) => (
  <svg height={step * 7 - 4} role="img" aria-label={label}>
    {weekdays.map((name, index) => (
      <svg key={name} y={index * step}>
        {hours.map((hour) => {
          const cell = cellOf(index + 1, hour)
          const level = levelOf(cell, most)
          const left = (hour * 100) / 24
          return (
            <g key={hour}>
              <rect class={level === undefined ? 'heat-none' : `heat-${level}`} x={`${left.toFixed(2)}%`}>
                <title>{`${name} ${twoDigits(hour)}:00: ${formatCount(cell.verified)} of ${formatCount(cell.views)} views verified`}</title>
              </rect>
              {/* A second sign beside the colour. */}
              {level === 0 ? (
                <line
                  class="heat-mark"
                  x1={`${(left + 0.8).toFixed(2)}%`}
                  x2={`${(left + 2.8).toFixed(2)}%`}
                  y1="22"
                  y2="7"
                />
              ) : null}
            </g>
          )
        })}
      </svg>
    ))}
  </svg>
)

const HeatKey = ({ most }: { most: number }) => (
  <p class="heat-key small muted">
    <span>
      <i class="heat-none" />
      no view
    </span>
    <span>
      <i class="heat-0" />
      less than half verified
    </span>
    <span>
      <i class="heat-1" />
      <i class="heat-2" />
      <i class="heat-3" />
      <i class="heat-4" />
      {most === 0
        ? 'no verified view'
        : most === 1
          ? '1 verified view'
          : `1 to ${formatCount(most)} verified views`}
    </span>
  </p>
)

/** Verified views by weekday and hour, in the time zone of the reader. */
export const HeatMap = ({ attention }: { attention: Attention }) => {
  const { heat, timezone } = attention
  const most = Math.max(0, ...heat.map(({ verified }) => verified))
  const cellOf: CellOf = (weekday, hour) =>
    heat.find((cell) => cell.weekday === weekday && cell.hour === hour) ?? {
      weekday,
      hour,
      views: 0,
      verified: 0,
    }
  return (
    <>
      <div class="heat">
        <div class="heat-days" aria-hidden="true">
          {weekdays.map((name) => (
            <span key={name}>{name}</span>
          ))}
        </div>
        <div>
          <Cells
            cellOf={cellOf}
            most={most}
            label={`Verified views by weekday and hour. ${busiestText(heat)}`}
          />
          <div class="heat-hours" aria-hidden="true">
            {['00', '06', '12', '18', '24'].map((hour) => (
              <span key={hour}>{hour}</span>
            ))}
          </div>
        </div>
      </div>
      <HeatKey most={most} />
      <AsTable
        label={`Verified views of all views by weekday and hour, ${timezone}`}
        head={['Hour', ...weekdays]}
        rows={hours.map((hour) => [
          twoDigits(hour),
          ...weekdays.map((_, index) => {
            const { views, verified } = cellOf(index + 1, hour)
            return views === 0 ? '–' : `${formatCount(verified)} of ${formatCount(views)}`
          }),
        ])}
      />
    </>
  )
}
