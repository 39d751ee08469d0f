import type { Order, OrderUnit, UnitState } from '@pohf/protocol'
import { shortText } from '../../shared/design/value.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { stepThroughRows } from '../../shared/lists/list-view.tsx'
import { countIn, unitStatusLabels } from '../../shared/orders/messages.ts'

export type UnitsPage = { readonly units: readonly OrderUnit[]; readonly nextCursor: number | null }

/** The number of units on one page of the table. */
export const unitsMax = 100

const Row = ({ unit, href, now }: { unit: OrderUnit; href: string; now: number }) => {
  const { word, tone } = unitStatusLabels[unit.status]
  return (
    <tr>
      <th scope="row" class="num">
        <a href={href}>
          <span class="hidden">Unit </span>
          {unit.n}
        </a>
      </th>
      <td>
        <span class={`chip ${tone}`}>{word}</span>
      </td>
      <td class="cut">{unit.answer === null || unit.answer === undefined ? '–' : shortText(unit.answer)}</td>
      <td class="num wide-only">{unit.quality === null ? '–' : unit.quality.toFixed(2)}</td>
      <td class="wide-only">
        {unit.deliveredAt === null ? '–' : <Moment at={unit.deliveredAt} now={now} />}
      </td>
    </tr>
  )
}

type UnitsProps = {
  readonly order: Order
  readonly page: UnitsPage | undefined
  readonly state: string | undefined
  readonly hrefOfUnit: (n: number) => string
  readonly hrefOfPage: (state: string | undefined, after: string | undefined) => string
}

const Filters = ({ order, state, hrefOfPage }: UnitsProps) => {
  const states = (Object.keys(unitStatusLabels) as UnitState[]).filter(
    (one) => countIn(order, one) > 0 || one === state,
  )
  return (
    <nav class="filters" aria-label="Which units">
      <a
        href={hrefOfPage(undefined, undefined)}
        {...(state === undefined ? { 'aria-current': 'true' as const } : {})}
      >
        all <span class="num">{order.quantity}</span>
      </a>
      {states.map((one) => (
        <a
          key={one}
          href={hrefOfPage(one, undefined)}
          {...(state === one ? { 'aria-current': 'true' as const } : {})}
        >
          {unitStatusLabels[one].word} <span class="num">{countIn(order, one)}</span>
        </a>
      ))}
    </nav>
  )
}

/** The units of an order; the address says which page of them is shown. */
export const Units = (props: UnitsProps) => {
  const { order, page, state } = props
  const now = Date.now()
  return (
    <section class="card pad units" aria-labelledby="units">
      <h2 class="h3" id="units">
        Units
      </h2>
      <Filters {...props} />
      {page && page.units.length === 0 ? (
        <p class="muted gap">
          {order.status === 'created'
            ? 'Units are created when the order is paid.'
            : 'No unit is in this state.'}
        </p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col" class="num">
                Unit
              </th>
              <th scope="col">State</th>
              <th scope="col">Answer</th>
              <th scope="col" class="num wide-only">
                Quality
              </th>
              <th scope="col" class="wide-only">
                Delivered, UTC
              </th>
            </tr>
          </thead>
          <tbody onKeyDown={stepThroughRows}>
            {page?.units.map((unit) => (
              <Row key={unit.n} unit={unit} href={props.hrefOfUnit(unit.n)} now={now} />
            ))}
          </tbody>
        </table>
      )}
      {page && page.nextCursor !== null ? (
        <p class="gap">
          <a class="btn" href={props.hrefOfPage(state, String(page.nextCursor))}>
            The next {unitsMax}
          </a>
        </p>
      ) : null}
    </section>
  )
}
