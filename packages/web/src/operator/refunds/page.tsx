import { useAction } from '../../shared/api/use-action.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { filterValues, type Filter } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { ListBody, Pager, useListPage } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import type { RefundPage } from '../wire.ts'
import { RefundForm } from './refund-form.tsx'
import { RefundTable } from './table.tsx'

const filters: readonly Filter[] = [
  {
    name: 'state',
    label: 'Refunds',
    options: [
      ['', 'Failed'],
      ['wanted', 'Not sent yet'],
      ['sent', 'Sent'],
      ['done', 'Done'],
      ['all', 'All'],
    ],
  },
]

const finding = ({ refunds, nextCursor }: RefundPage, filter: string | undefined): string => {
  if (refunds.length === 0) return filter === undefined ? 'No refund failed' : 'No refund here'
  const count = pluralize(refunds.length, 'refund')
  const counted = nextCursor === null ? count : `More than ${count}`
  return filter === undefined ? `${counted} failed` : counted
}

/** Page "Card refunds": what was to be given back, and what failed. */
export const RefundsPage = ({ api, query }: PageProps) => {
  const values = filterValues(query, ['state', 'agentId'])
  const cursor = query.get('cursor')
  const { state, agentId } = values
  const loaded = useListPage<RefundPage>(api, '/operator/refunds', {
    limit: '50',
    state: state === 'all' ? undefined : (state ?? 'failed'),
    agentId,
    after: cursor ?? undefined,
  })
  const action = useAction(loaded.refetch)
  const page = loaded.value
  return (
    <>
      <PageHead name="Card refunds" finding={page ? finding(page, state) : undefined}>
        The worker sends refunds to the card provider and tries again for a day. Then they wait here.
      </PageHead>
      <div class="listhead">
        <Filters path="refunds" query={query} filters={filters} />
      </div>
      <ActionResult message={action.message} error={action.error} />
      <ListBody
        loaded={loaded}
        count={page?.refunds.length}
        empty={
          <p class="card pad muted">
            Nothing to do. To give money back, enter the id of its checkout below; the mail of the card
            provider has it.
          </p>
        }
      >
        <RefundTable refunds={page?.refunds ?? []} api={api} action={action} />
      </ListBody>
      <Pager
        path="refunds"
        values={values}
        cursor={cursor}
        nextCursor={page?.nextCursor ?? null}
        isOldestFirst
      />
      <RefundForm api={api} action={action} />
    </>
  )
}
