import { CopyId } from '../../shared/design/copy-id.tsx'
import { Commands } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { matchText } from '../../shared/lists/count.ts'
import { filterValues, periodFilter, type Filter } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { FindForm } from '../../shared/lists/find-form.tsx'
import { ListBody, NoMatch, Pager, useListPage } from '../../shared/lists/list-view.tsx'
import type { LoggedRequest, Requests } from '../wire.ts'

const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Status',
    options: [
      ['', 'All'],
      ['2xx', '2xx, done'],
      ['4xx', '4xx, refused'],
      ['5xx', '5xx, failed'],
    ],
  },
  periodFilter(7),
]
/** Also in the address, and set by links of the table instead of a choice. */
const linkedNames = ['requestId', 'endpoint', 'code']
const filterNames = [...filters.map(({ name }) => name), ...linkedNames]

const firstCommands = (origin: string): string => `curl -si ${origin}/api/agents/credits/balance \\
  -H "Authorization: Bearer $POHF_KEY"`

const statusTone = (status: number): string => {
  if (status >= 500) return 'stop'
  return status >= 400 ? 'warn' : 'ok'
}

type Values = Readonly<Record<string, string | undefined>>

const RequestRow = ({ request, values, now }: { request: LoggedRequest; values: Values; now: number }) => (
  <tr>
    <th scope="row">
      <Moment at={request.at} now={now} />
    </th>
    <td>
      <span class={`chip num ${statusTone(request.status)}`}>{request.status}</span>
      {request.code === null ? null : (
        <a class="small block" href={hrefOf(['requests'], { ...values, code: request.code })}>
          {request.code}
        </a>
      )}
    </td>
    <td>
      <a href={hrefOf(['requests'], { ...values, endpoint: request.endpoint })}>{request.endpoint}</a>
      <span class="small muted block">{request.method}</span>
    </td>
    <td class="num wide-only">{request.durationMs}</td>
    <td class="wide-only">
      <CopyId value={request.requestId} label="request" />
    </td>
    <td class="wide-only">
      <CopyId value={request.keyId} label="key" />
    </td>
  </tr>
)

const RequestTable = (props: { requests: readonly LoggedRequest[]; values: Values; now: number }) => (
  <section class="card pad" aria-label="Requests">
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Time, UTC</th>
          <th scope="col">Status</th>
          <th scope="col">Endpoint</th>
          <th scope="col" class="num wide-only">
            Duration, ms
          </th>
          <th scope="col" class="wide-only">
            Request
          </th>
          <th scope="col" class="wide-only">
            Key
          </th>
        </tr>
      </thead>
      <tbody>
        {props.requests.map((request) => (
          <RequestRow
            key={`${request.requestId} ${request.at}`}
            request={request}
            values={props.values}
            now={props.now}
          />
        ))}
      </tbody>
    </table>
  </section>
)

const finding = ({ requests, nextCursor }: Requests, isFiltered: boolean, cursor: string | null): string => {
  if (requests.length === 0)
    return isFiltered ? matchText(0, 'request', { cursor, nextCursor }) : 'No request in the last 7 days'
  // A filter reads so many rows for each page, so that a page may have few and still be followed by others.
  const count = `${pluralize(requests.length, 'request')} found${nextCursor === null ? '' : ' so far'}`
  const bad = requests.filter(({ status }) => status >= 400).length
  if (isFiltered) return count
  return bad === 0
    ? `The latest ${requests.length} requests were answered`
    : `${bad} of the latest ${requests.length} requests were refused or failed`
}

/** Page "Requests": the calls of the last 7 days, without bodies. */
export const RequestsPage = ({ api, query }: PageProps) => {
  const values = filterValues(query, filterNames)
  const cursor = query.get('cursor')
  const { period, ...wanted } = values
  const now = Date.now()
  const loaded = useListPage<Requests>(api, '/api/agents/requests', {
    limit: '50',
    ...wanted,
    since: { last: period },
    cursor: cursor ?? undefined,
  })
  const page = loaded.value
  const isFiltered = Object.values(values).some((value) => value !== undefined) || cursor !== null
  const linked = linkedNames.filter((name) => values[name] !== undefined)
  return (
    <>
      <PageHead name="Requests" finding={page ? finding(page, isFiltered, cursor) : undefined}>
        Every answer has its request id in the header x-request-id, and an error has it in the body too.
        Bodies and addresses are not kept.
      </PageHead>
      <div class="listhead">
        <Filters path="requests" query={query} filters={filters} also={linkedNames} />
        <FindForm
          label="By request id"
          placeholder="req_…"
          onFind={(requestId) => (location.hash = hrefOf(['requests'], { requestId }))}
        />
      </div>
      {linked.length === 0 ? null : (
        <p class="filters">
          {linked.map((name) => (
            <a key={name} href={hrefOf(['requests'], { ...values, [name]: undefined })}>
              {name === 'requestId' ? 'request' : name}: {values[name]} <span aria-hidden="true">×</span>
              <span class="hidden">, remove this filter</span>
            </a>
          ))}
        </p>
      )}
      <ListBody
        loaded={loaded}
        count={page?.requests.length}
        empty={
          isFiltered ? (
            <NoMatch what="requests" hasMore={page !== undefined && page.nextCursor !== null} />
          ) : (
            <section class="card pad" aria-label="First request">
              <p class="muted">Make a call with your key. It appears here within seconds:</p>
              <Commands text={firstCommands(location.origin)} label="Command that makes a call" />
            </section>
          )
        }
      >
        <RequestTable requests={page?.requests ?? []} values={values} now={now} />
      </ListBody>
      <Pager path="requests" values={values} cursor={cursor} nextCursor={page?.nextCursor ?? null} />
    </>
  )
}
