import type { Order, UnitState } from '@pohf/protocol'
import { countIn, unitStatusLabels } from '../../shared/orders/messages.ts'

/** From finished units to open ones. */
const parts: readonly (readonly [tone: string, states: readonly UnitState[]])[] = [
  ['ok', ['accepted']],
  ['warn', ['delivered', 'appealed']],
  ['stop', ['rejected', 'refused']],
  ['busy', ['claimed']],
  ['rest', ['open', 'cancelled']],
]

/** How far the units of an order are: one strip, and the same in words for listeners. */
export const UnitBar = ({ order }: { order: Order }) => {
  let from = 0
  const pieces = parts.map(([tone, states]) => {
    const width = (100 * countIn(order, ...states)) / Math.max(1, order.quantity)
    const piece = { tone, from, width }
    from += width
    return piece
  })
  const words = (Object.keys(unitStatusLabels) as UnitState[])
    .filter((state) => countIn(order, state) > 0)
    .map((state) => `${countIn(order, state)} ${unitStatusLabels[state].word}`)
  return (
    <>
      <svg class="unitbar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="rest" width="100" height="6" />
        {pieces
          .filter(({ width }) => width > 0)
          .map(({ tone, from: x, width }) => (
            <rect key={tone} class={tone} x={x} width={width} height="6" />
          ))}
      </svg>
      <span class="hidden">{words.join(', ')}</span>
    </>
  )
}
