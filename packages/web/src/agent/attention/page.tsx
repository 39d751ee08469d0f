import type { ComponentChildren } from 'preact'
import { useQuery } from '../../shared/api/use-query.ts'
import { ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { Histogram } from '../../shared/plots/histogram.tsx'
import { formatUnit } from '../../shared/plots/scale.ts'
import { pluralize } from '../../shared/design/time.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { useProfile } from '../profile.ts'
import type { Attention } from '../wire.ts'
import './attention.css'
import { CheckFigures, FlagBars, PagesTable, Stats } from './cards.tsx'
import { NoViews, NoVisits } from './empty.tsx'
import { attentionFinding, attentionText } from './findings.ts'
import { HeatMap } from './heat-map.tsx'
import { QualityPlot } from './quality-plot.tsx'
import { ViewFilters } from './view-filters.tsx'
import { hostsOf, windowParameters } from './window.ts'

const Card = (props: { id: string; title: string; note?: string; children: ComponentChildren }) => (
  <section class="card pad" aria-labelledby={props.id}>
    <h2 class="h3" id={props.id}>
      {props.title}
    </h2>
    {props.note === undefined ? null : <p class="muted small">{props.note}</p>}
    {props.children}
  </section>
)

const Plots = ({ attention }: { attention: Attention }) => {
  const total = attention.quality.reduce((sum, { views }) => sum + views, 0)
  return (
    <>
      <Stats attention={attention} />
      <div class="full">
        <Card id="over-time" title="Quality over time">
          <QualityPlot attention={attention} />
        </Card>
      </div>
      <div class="cols even">
        <Card
          id="distribution"
          title="How quality is distributed"
          note={`${pluralize(total, 'scored view')} by quality, from 0 to 1.`}
        >
          <Histogram
            bins={attention.quality.map(({ views }) => views)}
            minimum={attention.threshold}
            counted="Views"
            label={`Histogram of the quality of ${pluralize(total, 'view')}; verified from ${formatUnit(attention.threshold)}.`}
          />
        </Card>
        <Card id="flags" title="Flags" note="Share of all views. Amber lowers the quality, red refuses.">
          <FlagBars attention={attention} />
        </Card>
        <Card
          id="heat"
          title="When verified people come"
          note={`By weekday and hour, time zone ${attention.timezone}, added up over the period.`}
        >
          <HeatMap attention={attention} />
        </Card>
        <Card id="checks" title="The check">
          <CheckFigures attention={attention} />
        </Card>
      </div>
      <div class="full">
        <Card id="pages" title="Pages after the click" note="Paths only: no query, no fragment.">
          {attention.pages.length === 0 ? <NoVisits /> : <PagesTable attention={attention} />}
        </Card>
      </div>
    </>
  )
}

/** Page "Attention": how well views were attended, when, and what lowered them. */
export const AttentionPage = ({ api, query }: PageProps) => {
  const profile = useProfile(api)
  const load = () => {
    const parameters = windowParameters(query, Date.now())
    parameters.set('timezone', Intl.DateTimeFormat().resolvedOptions().timeZone)
    return api.call<Attention>('GET', `/api/agents/metrics/attention?${parameters.toString()}`)
  }
  const { value, error, slow, refetch } = useQuery(load, query.toString(), 15_000)
  return (
    <>
      <PageHead name="Attention" finding={value ? attentionFinding(value) : undefined}>
        {value ? attentionText(value) : ' '}
      </PageHead>
      <ViewFilters path="attention" query={query} sites={hostsOf(profile.value?.allowedOrigins ?? [])} />
      {error ? <ErrorNote error={error} onRetry={refetch} /> : null}
      {value === undefined && slow ? <Skeleton /> : null}
      {value === undefined ? null : value.summary.views === 0 ? (
        <NoViews path="attention" query={query} mode={api.mode} />
      ) : (
        <Plots attention={value} />
      )}
    </>
  )
}
