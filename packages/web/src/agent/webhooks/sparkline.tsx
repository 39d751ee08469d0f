import type { WebhookEndpoint } from '@pohf/protocol'
import { hourlyHealth } from './messages.ts'

const width = 240
const height = 40

/** The last 24 hours: deliveries above the line, failures below. The same figures as a table for screen readers. */
export const Sparkline = ({ endpoint, now }: { endpoint: WebhookEndpoint; now: number }) => {
  const hours = hourlyHealth(endpoint, now)
  const most = Math.max(1, ...hours.map(({ delivered, failed }) => Math.max(delivered, failed)))
  const step = width / hours.length
  const tall = (count: number, room: number) => (count === 0 ? 0 : Math.max(2, (count / most) * room))
  return (
    <figure class="spark">
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <line x1="0" x2={width} y1="28.5" y2="28.5" class="base" />
        {hours.map(({ label, delivered, failed }, index) => (
          <g key={label}>
            <rect
              class="delivered"
              x={index * step + 1}
              width={step - 2}
              y={28 - tall(delivered, 26)}
              height={tall(delivered, 26)}
            />
            <rect class="failed" x={index * step + 1} width={step - 2} y={29} height={tall(failed, 11)} />
          </g>
        ))}
      </svg>
      <figcaption class="small faint">24 hours: delivered above, failed below</figcaption>
      <table class="hidden">
        <caption>Attempts by hour</caption>
        <thead>
          <tr>
            <th scope="col">Hour</th>
            <th scope="col">Delivered</th>
            <th scope="col">Failed</th>
          </tr>
        </thead>
        <tbody>
          {hours
            .filter(({ delivered, failed }) => delivered + failed > 0)
            .map(({ label, delivered, failed }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>{delivered}</td>
                <td>{failed}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </figure>
  )
}
