import type { ComponentChildren } from 'preact'
import type { Api } from '../api/client.ts'
import { useQuery, type QueryState } from '../api/use-query.ts'
import { ErrorNote, Skeleton } from '../design/components.tsx'
import { hrefOf } from '../shell/router.ts'
import { listParameters, type ListParameter } from './filter.ts'

/** The arrow keys move the focus from row to row. */
export const stepThroughRows = (event: KeyboardEvent): void => {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
  const row = (event.target as HTMLElement).closest('tr')
  const other = event.key === 'ArrowDown' ? row?.nextElementSibling : row?.previousElementSibling
  const link = other?.querySelector('a')
  if (!link) return
  event.preventDefault()
  link.focus()
}

/** One page of a list, by the parameters that are set. */
export const useListPage = <Page,>(
  api: Api,
  path: string,
  parameters: Readonly<Record<string, ListParameter>>,
): QueryState<Page> =>
  useQuery(
    () => api.call<Page>('GET', `${path}?${listParameters(parameters, Date.now()).toString()}`),
    `${path}?${JSON.stringify(parameters)}`,
  )

type ListBodyProps = {
  readonly loaded: QueryState<unknown>
  /** How many rows there are, once that is known. */
  readonly count: number | undefined
  /** Shown instead of a table without rows. */
  readonly empty: ComponentChildren
  readonly children: ComponentChildren
}

/** A list in each of its states: awaited, failed, empty, or with rows. */
export const ListBody = ({ loaded, count, empty, children }: ListBodyProps) => (
  <>
    {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
    {count === undefined && loaded.slow ? <Skeleton /> : null}
    {count === 0 ? empty : null}
    {count !== undefined && count > 0 ? children : null}
  </>
)

/** What an empty page of a filtered list says: a filter looks at a limited number of rows for each page. */
export const NoMatch = ({ what, hasMore }: { what: string; hasMore: boolean }) => (
  <p class="card pad muted">
    {hasMore
      ? `None of the newest ${what} has these properties. Go further back.`
      : `No ${what} has these properties.`}
  </p>
)

type PagerProps = {
  readonly path: string
  readonly values: Readonly<Record<string, string | undefined>>
  readonly cursor: string | null
  readonly nextCursor: string | null
  /** Lists of what waits begin with the oldest. */
  readonly isOldestFirst?: boolean
}

/** Further rows and back to the first. */
export const Pager = ({ path, values, cursor, nextCursor, isOldestFirst = false }: PagerProps) =>
  cursor === null && nextCursor === null ? null : (
    <nav class="acts" aria-label="Pages of the list">
      {cursor === null ? null : (
        <a class="btn" href={hrefOf(path.split('/'), values)}>
          {isOldestFirst ? 'Back to the oldest' : 'Back to the newest'}
        </a>
      )}
      {nextCursor === null ? null : (
        <a class="btn" href={hrefOf(path.split('/'), { ...values, cursor: nextCursor })}>
          {isOldestFirst ? 'Show newer' : 'Show older'}
        </a>
      )}
    </nav>
  )
