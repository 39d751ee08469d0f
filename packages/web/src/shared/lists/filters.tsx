import { hrefOf } from '../shell/router.ts'
import { filterValues, type Filter } from './filter.ts'

type FiltersProps = {
  /** Of the page, or of a part of it: `approvals/report`. */
  readonly path: string
  readonly query: URLSearchParams
  readonly filters: readonly Filter[]
  /** Parameters of the address that another control sets; a choice keeps them. */
  readonly also?: readonly string[]
}

/** Choices above a list. They are kept in the address, so that a link shows the same list. */
export const Filters = ({ path, query, filters, also = [] }: FiltersProps) => {
  const values = filterValues(query, [...filters.map(({ name }) => name), ...also])
  const isSet = Object.values(values).some((value) => value !== undefined)
  return (
    <div class="filterbar" role="group" aria-label="Filters">
      {filters.map(({ name, label, options }) => (
        <div key={name}>
          <label class="small" for={`filter-${name}`}>
            {label}
          </label>
          <select
            id={`filter-${name}`}
            value={values[name] ?? ''}
            onChange={(event) => {
              const value = event.currentTarget.value
              location.hash = hrefOf(path.split('/'), { ...values, [name]: value === '' ? undefined : value })
            }}
          >
            {options.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </div>
      ))}
      {isSet ? (
        <a class="clear small" href={hrefOf(path.split('/'))}>
          Clear the filters
        </a>
      ) : null}
    </div>
  )
}
