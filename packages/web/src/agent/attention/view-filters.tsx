import { useState } from 'preact/hooks'
import { filterValues } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { periodChoice, siteOf } from './window.ts'

type ViewFiltersProps = {
  readonly path: 'attention' | 'funnel'
  readonly query: URLSearchParams
  /** Hosts that are suggested. Views of others count, too, unless the agent lists its origins. */
  readonly sites: readonly string[]
}

type FieldProps = {
  readonly name: 'site' | 'workflow'
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly suggestions?: string
}

const Field = ({ name, label, placeholder, value, onInput, suggestions }: FieldProps) => (
  <div>
    <label class="small" for={`filter-${name}`}>
      {label}
    </label>
    <input
      id={`filter-${name}`}
      maxLength={300}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      placeholder={placeholder}
      list={suggestions}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  </div>
)

/** Site and workflow, which the reader names. */
const NameForm = ({ path, query, sites }: ViewFiltersProps) => {
  const values = filterValues(query, ['period', 'site', 'workflow'])
  const [site, setSite] = useState(values['site'] ?? '')
  const [workflow, setWorkflow] = useState(values['workflow'] ?? '')
  return (
    <form
      class="filterbar view-names"
      role="search"
      aria-label="Site and workflow"
      onSubmit={(event) => {
        event.preventDefault()
        location.hash = hrefOf([path], {
          ...values,
          site: siteOf(site),
          workflow: workflow.trim() === '' ? undefined : workflow.trim(),
        })
      }}
    >
      <Field
        name="site"
        label="Site"
        placeholder="shop.example"
        value={site}
        onInput={setSite}
        suggestions="known-sites"
      />
      <datalist id="known-sites">
        {sites.map((host) => (
          <option key={host} value={host} />
        ))}
      </datalist>
      <Field
        name="workflow"
        label="Workflow"
        placeholder="id of a workflow"
        value={workflow}
        onInput={setWorkflow}
      />
      <button class="btn" type="submit">
        Filter
      </button>
    </form>
  )
}

/** Time, site and workflow of the pages about views. A link keeps them. */
export const ViewFilters = ({ path, query, sites }: ViewFiltersProps) => (
  <div class="listhead">
    <Filters path={path} query={query} filters={[periodChoice]} also={['site', 'workflow']} />
    <NameForm
      key={`${query.get('site') ?? ''} ${query.get('workflow') ?? ''}`}
      path={path}
      query={query}
      sites={sites}
    />
  </div>
)
