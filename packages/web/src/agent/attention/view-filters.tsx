import { FindForm } from '../../shared/lists/find-form.tsx'
import { filterValues } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { viewFilters } from './window.ts'

type ViewFiltersProps = {
  readonly path: 'attention' | 'funnel'
  readonly query: URLSearchParams
  readonly sites: readonly string[]
}

/** Time, site and workflow of the pages about views. A link keeps them. */
export const ViewFilters = ({ path, query, sites }: ViewFiltersProps) => {
  const values = filterValues(query, ['period', 'site', 'workflow'])
  return (
    <div class="listhead">
      <Filters path={path} query={query} filters={viewFilters(sites, query)} also={['workflow']} />
      <FindForm
        key={values['workflow'] ?? ''}
        label="Workflow"
        placeholder="id of a workflow"
        initial={values['workflow'] ?? ''}
        onFind={(workflow) => {
          location.hash = hrefOf([path], { ...values, workflow: workflow === '' ? undefined : workflow })
        }}
      />
    </div>
  )
}
