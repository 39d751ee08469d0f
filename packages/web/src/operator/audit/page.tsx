import { CopyId } from '../../shared/design/copy-id.tsx'
import { Drawer } from '../../shared/design/drawer.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { shortText, Value } from '../../shared/design/value.tsx'
import { filterValues, type Filter } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { FindForm } from '../../shared/lists/find-form.tsx'
import { ListBody, NoMatch, Pager, stepThroughRows, useListPage } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { Facts } from '../facts.tsx'
import { operatorName, useOperators } from '../use-operators.ts'
import type { AuditEntry, AuditPage, Operators } from '../wire.ts'
import { actionText, auditActions } from './actions.ts'

type OperatorList = Operators['operators']

const filtersOf = (operators: OperatorList): readonly Filter[] => [
  {
    name: 'operatorId',
    label: 'Operator',
    options: [
      ['', 'Any operator'],
      ['machine', 'The command line'],
      ...operators.map(({ operatorId, name }) => [operatorId, name] as const),
    ],
  },
  { name: 'action', label: 'Action', options: [['', 'Any action'], ...auditActions] },
]
const filterNames = ['operatorId', 'action', 'target']

const AuditTable = (props: {
  entries: readonly AuditEntry[]
  operators: OperatorList
  hrefOfEntry: (seq: number) => string
}) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Audit log">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col" class="num">
              Entry
            </th>
            <th scope="col">Action</th>
            <th scope="col">Operator</th>
            <th scope="col">Target</th>
            <th scope="col">Hash</th>
            <th scope="col">Time, UTC</th>
          </tr>
        </thead>
        <tbody onKeyDown={stepThroughRows}>
          {props.entries.map((entry) => (
            <tr key={entry.seq}>
              <th scope="row" class="num">
                <a href={props.hrefOfEntry(entry.seq)}>{entry.seq}</a>
              </th>
              <td>
                {actionText(entry.action)}
                <span class="small muted block cut">{shortText(entry.details)}</span>
              </td>
              <td data-label="Operator">{operatorName(props.operators, entry.operatorId)}</td>
              <td data-label="Target">
                <CopyId value={entry.target} label="target" />
              </td>
              <td data-label="Hash">
                <CopyId value={entry.hash} label="hash" />
              </td>
              <td>
                <Moment at={entry.at} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const EntryDrawer = (props: { entry: AuditEntry; operators: OperatorList; onClose: () => void }) => {
  const { entry } = props
  return (
    <Drawer title={`Entry ${entry.seq}: ${actionText(entry.action)}`} onClose={props.onClose}>
      <Facts
        rows={[
          ['Time, UTC', <Moment at={entry.at} now={Date.now()} />],
          ['Operator', operatorName(props.operators, entry.operatorId)],
          ['Operator id', <CopyId value={entry.operatorId} label="operator" />],
          ['Action', <code>{entry.action}</code>],
          ['Target', <CopyId value={entry.target} label="target" />],
        ]}
      />
      <section aria-labelledby="details">
        <h3 id="details">Details</h3>
        <Value value={entry.details} label="Details" />
      </section>
      <section aria-labelledby="chain">
        <h3 id="chain">Hash chain</h3>
        <p class="muted">
          The hash covers every field of this entry and the hash before it. A changed entry, or one deleted
          before others, breaks the chain. Whoever owns the database could write the whole log anew.
        </p>
        <Facts
          rows={[
            ['Hash before', <CopyId value={entry.prevHash} label="hash before" />],
            ['Hash', <CopyId value={entry.hash} label="hash" />],
          ]}
        />
      </section>
    </Drawer>
  )
}

const AuditFilters = ({ query, operators }: { query: URLSearchParams; operators: OperatorList }) => {
  const values = filterValues(query, filterNames)
  return (
    <div class="listhead">
      <Filters path="audit" query={query} filters={filtersOf(operators)} also={['target']} />
      <FindForm
        key={values['target'] ?? ''}
        label="Target"
        placeholder="agt_…"
        initial={values['target'] ?? ''}
        onFind={(target) =>
          (location.hash = hrefOf(['audit'], { ...values, target: target === '' ? undefined : target }))
        }
      />
    </div>
  )
}

const BrokenChain = () => (
  <p class="note stop" role="alert">
    Entries that were read for this page are changed or missing. Keep a copy of the database, and compare the
    log with a backup.
  </p>
)

const finding = ({ entries, intact }: AuditPage, isFiltered: boolean): string => {
  if (!intact) return 'The audit log was changed'
  if (entries.length === 0) return isFiltered ? 'No entry matches' : 'No entry yet'
  return 'The hash chain of these entries is intact'
}

/** Page "Audit log": what operators did, newest first. */
export const AuditPageView = ({ api, query }: PageProps) => {
  const operators = useOperators(api)
  const values = filterValues(query, filterNames)
  const cursor = query.get('cursor')
  const chosen = query.get('entry')
  const loaded = useListPage<AuditPage>(api, '/operator/audit', {
    limit: '50',
    order: 'newest',
    ...values,
    after: cursor ?? undefined,
  })
  const page = loaded.value
  const isFiltered = Object.values(values).some((value) => value !== undefined)
  const here = { ...values, cursor: cursor ?? undefined }
  const entry = page?.entries.find(({ seq }) => String(seq) === chosen)
  return (
    <>
      <PageHead name="Audit log" finding={page ? finding(page, isFiltered) : undefined}>
        Everything that operators changed. An entry that is changed or deleted breaks the chain of hashes,
        except at its newest end: keep the newest hash elsewhere.
      </PageHead>
      {page && !page.intact ? <BrokenChain /> : null}
      <AuditFilters query={query} operators={operators} />
      <ListBody
        loaded={loaded}
        count={page?.entries.length}
        empty={
          isFiltered ? (
            <NoMatch what="entries" hasMore={page !== undefined && page.nextCursor !== null} />
          ) : (
            <p class="card pad muted">
              The first entry is written when an operator is created:{' '}
              <code>npx pohf operator create NAME</code>
            </p>
          )
        }
      >
        <AuditTable
          entries={page?.entries ?? []}
          operators={operators}
          hrefOfEntry={(seq) => hrefOf(['audit'], { ...here, entry: String(seq) })}
        />
      </ListBody>
      <Pager
        path="audit"
        values={values}
        cursor={cursor}
        nextCursor={page && page.nextCursor !== null ? String(page.nextCursor) : null}
      />
      {entry ? (
        <EntryDrawer
          key={entry.seq}
          entry={entry}
          operators={operators}
          onClose={() => (location.hash = hrefOf(['audit'], here))}
        />
      ) : null}
    </>
  )
}
