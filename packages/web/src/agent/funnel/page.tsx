import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { AsTable } from '../../shared/plots/as-table.tsx'
import { formatUtc, pluralize } from '../../shared/design/time.ts'
import { formatCount, formatShare } from '../../shared/plots/scale.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import '../attention/attention.css'
import { NoViews, NoVisits } from '../attention/empty.tsx'
import { ViewFilters } from '../attention/view-filters.tsx'
import { hostsOf, windowParameters } from '../attention/window.ts'
import { useProfile } from '../profile.ts'
import type { Funnel } from '../wire.ts'
import { downloadViews, fileMax } from './download.ts'
import { formatValue, stepsOf, valuesText } from './steps.ts'

const StepBars = ({ funnel }: { funnel: Funnel }) => {
  const steps = stepsOf(funnel)
  return (
    <section class="card pad" aria-labelledby="drop-off">
      <h2 class="h3" id="drop-off">
        From view to conversion
      </h2>
      <p class="muted small">Each bar is a share of the verified views. Every view counts once.</p>
      <ol class="funnel-steps">
        {steps.map(({ name, count, rate, lost }) => (
          <li key={name}>
            <div class="spread">
              <span>{name}</span>
              <span class="num">
                <b>{formatCount(count)}</b> <span class="faint">{formatShare(rate)}</span>
              </span>
            </div>
            <div class="track" style={{ '--v': `${100 * rate}%` }} aria-hidden="true" />
            {lost ? (
              <p class="small muted">
                <span class="num">
                  {formatCount(lost.count)} (−{formatShare(lost.share)})
                </span>{' '}
                {lost.text}
              </p>
            ) : null}
          </li>
        ))}
      </ol>
      <AsTable
        label="Steps of the funnel"
        head={['Step', 'Views', 'Share of views', 'Lost from the step before']}
        rows={steps.map(({ name, count, rate, lost }) => [
          name,
          formatCount(count),
          formatShare(rate),
          lost ? formatCount(lost.count) : '–',
        ])}
      />
    </section>
  )
}

const ValueCard = ({ funnel }: { funnel: Funnel }) => {
  const values = Object.entries(funnel.value)
  return (
    <section class="card pad" aria-labelledby="value">
      <h2 class="h3" id="value">
        Value
      </h2>
      <p class="muted small">{pluralize(funnel.conversions, 'conversion')}, as your server reported them.</p>
      {values.length === 0 ? (
        <p class="gap">
          No conversion had a value. Send <code>value</code> and <code>currency</code> with{' '}
          <code>POST /api/agents/track/conversion</code>.
        </p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Currency</th>
              <th scope="col" class="num">
                Sum
              </th>
            </tr>
          </thead>
          <tbody>
            {values.map(([code, value]) => (
              <tr key={code}>
                <th scope="row">{code === 'XXX' ? 'none named' : code}</th>
                <td class="num">{formatValue(code, value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

const DownloadCard = ({ api, parameters }: { api: Api; parameters: URLSearchParams }) => {
  const since = parameters.get('since') ?? ''
  // The list of views takes no other filter.
  const isWider = parameters.size > 1
  const [progress, setProgress] = useState('')
  const action = useAction(() => undefined)
  const download = () =>
    void action.run('', async () => {
      const isWhole = await downloadViews(api, since, (pages) => setProgress(`Page ${pages} is read…`))
      setProgress(
        isWhole
          ? 'views.csv is downloaded.'
          : `views.csv has the first ${formatCount(fileMax)} views. Choose a shorter period, or page with the API.`,
      )
    })
  return (
    <section class="card pad" aria-labelledby="csv">
      <h2 class="h3" id="csv">
        The views behind it
      </h2>
      <p class="muted gap">
        {isWider
          ? `Every view since ${formatUtc(since)} until now, of all sites and workflows,`
          : 'Every view of the period'}{' '}
        with its scores, flags and credential. A text that a spreadsheet would run as a formula begins with an
        apostrophe.
      </p>
      <p class="gap">
        <button type="button" class="btn" disabled={action.busy} onClick={download}>
          Download views.csv
        </button>
      </p>
      <p class="small muted" role="status">
        {progress}
      </p>
      {action.error ? <ErrorNote error={action.error} onRetry={download} /> : null}
    </section>
  )
}

const findingOf = ({ views, rates }: Funnel): string =>
  views === 0
    ? 'No verified view in this period'
    : `${formatShare(rates.conversion)} of verified views converted`

const textOf = ({ value, conversions }: Funnel): string => {
  const values = Object.entries(value)
  const [only] = values
  if (only === undefined || conversions === 0)
    return 'Beacons and conversions count at the time of their view.'
  if (values.length > 1) return `${valuesText(values)} came from verified views.`
  return `${formatValue(...only)} came from verified views, ${formatValue(only[0], only[1] / conversions)} for each conversion.`
}

/** Page "Funnel": from the verified view to the conversion. */
export const FunnelPage = ({ api, query }: PageProps) => {
  const profile = useProfile(api)
  const parametersNow = () => windowParameters(query, Date.now())
  const load = () => api.call<Funnel>('GET', `/api/agents/metrics/funnel?${parametersNow().toString()}`)
  const { value, error, slow, refetch } = useQuery(load, query.toString(), 15_000)
  return (
    <>
      <PageHead name="Funnel" finding={value ? findingOf(value) : undefined}>
        {value ? textOf(value) : ' '}
      </PageHead>
      <ViewFilters path="funnel" query={query} sites={hostsOf(profile.value?.allowedOrigins ?? [])} />
      {error ? <ErrorNote error={error} onRetry={refetch} /> : null}
      {value === undefined && slow ? <Skeleton /> : null}
      {value === undefined ? null : value.views === 0 ? (
        <NoViews path="funnel" query={query} mode={api.mode} />
      ) : (
        <div class="cols even">
          <StepBars funnel={value} />
          <div class="stack">
            {value.landed === 0 ? (
              <section class="card pad" aria-labelledby="no-visits">
                <h2 class="h3" id="no-visits">
                  Nobody landed
                </h2>
                <NoVisits />
              </section>
            ) : null}
            <ValueCard funnel={value} />
            <DownloadCard api={api} parameters={parametersNow()} />
          </div>
        </div>
      )}
    </>
  )
}
