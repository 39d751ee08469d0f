import { useState } from 'preact/hooks'
import { knownBadMin } from '@pohf/verify/approvals'
import type { Api } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, Commands, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { formatCount, formatUnit } from '../../shared/plots/scale.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import type { ApprovalReport } from '../wire.ts'
import { downloadPack } from './download-pack.ts'
import { IntervalBar } from './interval-bar.tsx'
import { reportFinding, reportPeriods, secondsText, shareText } from './messages.ts'
import { isOwner, OwnerOnly } from './parts.tsx'
import '../../shared/plots/plots.css'

const periodChoice = {
  name: 'period',
  label: 'Time',
  options: reportPeriods.map(([value, label]) => [value, label] as const),
}
const dayMs = 86_400_000

const Tiles = ({ report }: { report: ApprovalReport }) => {
  const { team } = report
  const tiles: readonly (readonly [name: string, value: string, note: string])[] = [
    [
      'Decisions',
      formatCount(team.decisions),
      `${formatCount(team.approved)} approved, ${formatCount(team.denied)} denied`,
    ],
    ['Median time in view', secondsText(team.medianSecondsInView), 'of decisions with a recording'],
    [
      'Median quality',
      team.medianAttention === null ? '–' : formatUnit(team.medianAttention),
      'of the recordings, 0 to 1',
    ],
    [
      'Requests',
      formatCount(report.requests),
      `${formatCount(report.expired)} expired, ${formatCount(report.consumed)} consumed`,
    ],
  ]
  return (
    <dl class="tiles" aria-label="Figures of the team">
      {tiles.map(([name, value, note]) => (
        <div key={name} class="card tile">
          <dt class="muted">{name}</dt>
          <dd class="num big">{value}</dd>
          <dd class="small faint">{note}</dd>
        </div>
      ))}
    </dl>
  )
}

const TeamShares = ({ team }: Pick<ApprovalReport, 'team'>) => {
  const rows = [
    ['Known-bad requests caught', team.caught, 'Denied, as they should be.'],
    ['Approvals faster than reading', team.fast, 'In view for less time than a fast reader needs.'],
  ] as const
  return (
    <section class="card pad" aria-labelledby="team-shares">
      <h2 class="h3" id="team-shares">
        The team
      </h2>
      <table class="stacked figures">
        <thead>
          <tr>
            <th scope="col">Share</th>
            <th scope="col" class="num">
              Count
            </th>
            <th scope="col">With its interval, 95 percent</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, share, note]) => (
            <tr key={name}>
              <th scope="row">
                {name}
                <span class="small muted block">{note}</span>
              </th>
              <td class="num" data-label="Count">
                {share.n} of {share.of}
              </td>
              <td>
                <IntervalBar share={share} />
                <span class="num small">{shareText(share)}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {team.caught.of === 0 ? (
        <p class="gap">
          Nothing says yet whether bad requests are caught.{' '}
          <a href={hrefOf(['approvals', 'known-bad'])}>Send a known-bad request</a>.
        </p>
      ) : null}
    </section>
  )
}

const PeopleTable = ({
  people,
  teamShare,
}: {
  people: NonNullable<ApprovalReport['perPerson']>['people']
  teamShare: number | null
}) => (
  <table class="stacked figures">
    <thead>
      <tr>
        <th scope="col">Person</th>
        <th scope="col" class="num">
          Caught
        </th>
        <th scope="col">With its interval, 95 percent</th>
        <th scope="col" class="num wide-only">
          Faster than reading
        </th>
        <th scope="col" class="num wide-only">
          Median in view
        </th>
      </tr>
    </thead>
    <tbody>
      {people.map((person) => (
        <tr key={person.approver}>
          <th scope="row" class="address">
            {person.name}
            {person.belowTeam ? (
              <span class="block">
                <span class="chip stop">below the team</span>
              </span>
            ) : null}
          </th>
          <td class="num" data-label="Caught">
            {person.caught.n} of {person.caught.of}
          </td>
          <td>
            <IntervalBar share={person.caught} mark={teamShare} isBelow={person.belowTeam} />
            <span class="num small">{shareText(person.caught)}</span>
          </td>
          <td class="num wide-only">
            {person.fast.n} of {person.fast.of}
          </td>
          <td class="num wide-only">{secondsText(person.medianSecondsInView)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

const People = ({ report: { perPerson, team } }: { report: ApprovalReport }) => (
  <section class="card pad" aria-labelledby="people-figures">
    <h2 class="h3" id="people-figures">
      People
    </h2>
    {perPerson === null ? (
      <p class="muted gap">
        Turned off: the report names nobody. An owner can turn it on under{' '}
        <a href={hrefOf(['approvals', 'settings'])}>Settings</a>. Labour law may apply to it.
      </p>
    ) : (
      <>
        <p class="muted gap">
          {`People who decided at least ${knownBadMin} known-bad requests. `}
          {perPerson.tooFew === 0
            ? ''
            : `Left out, with fewer: ${pluralize(perPerson.tooFew, 'person', 'people')}. `}
          The dashed line is the share of the team. A person is below the team only where chance explains it
          in fewer than 1 in 100 teams.
        </p>
        {perPerson.people.length === 0 ? null : (
          <PeopleTable people={perPerson.people} teamShare={team.caught.share} />
        )}
      </>
    )}
  </section>
)

const verifyCommands = (issuer: string): string => `curl -so jwks.json ${issuer}/.well-known/jwks.json
npx pohf approvals audit approvals.json \\
  --issuer ${issuer} --jwks jwks.json`

const Pack = ({ api, report, issuer }: { api: Api; report: ApprovalReport; issuer: string }) => {
  const action = useAction(() => undefined)
  const save = (format: 'json' | 'html') =>
    void action.run('The evidence pack is saved.', () => downloadPack(api, report, format))
  return (
    <section class="card pad" aria-labelledby="pack">
      <h2 class="h3" id="pack">
        Evidence pack
      </h2>
      <p class="muted gap">
        This report, signed by the service. An auditor verifies it without a connection.
      </p>
      <div class="acts">
        <button type="button" class="btn main" disabled={action.busy} onClick={() => save('json')}>
          Save as signed JSON
        </button>
        <button type="button" class="btn" disabled={action.busy} onClick={() => save('html')}>
          Save as a page to print
        </button>
      </div>
      <ActionResult message={action.message} error={action.error} />
      <Commands text={verifyCommands(issuer)} label="Commands that verify the pack" />
    </section>
  )
}

const OwnersReport = ({ api, issuer, query }: PageProps) => {
  const days = reportPeriods.find(([value]) => value === (query.get('period') ?? ''))?.[2] ?? 30
  // Another start would be another address, loaded anew at each render. The period ends when the service answers.
  const [openedAt] = useState(() => Date.now())
  const from = new Date(openedAt - days * dayMs).toISOString()
  const address = `/api/agents/approval-report?from=${from}`
  const loaded = useQuery(() => api.call<ApprovalReport>('GET', address), address, 60_000)
  const report = loaded.value
  return (
    <>
      <PageHead name="Report" finding={report ? reportFinding(report) : undefined}>
        How often people denied what should be denied, and how long they looked. It does not show that anybody
        understood a request.
      </PageHead>
      <div class="listhead">
        <Filters path="approvals/report" query={query} filters={[periodChoice]} />
      </div>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {report === undefined && loaded.slow ? <Skeleton /> : null}
      {report ? (
        <div class="stack-cards">
          <Tiles report={report} />
          <TeamShares team={report.team} />
          <People report={report} />
          <Pack api={api} report={report} issuer={issuer} />
        </div>
      ) : null}
    </>
  )
}

/** How attentive decisions were. */
export const ReportPart = (props: PageProps) =>
  isOwner(props.api) ? (
    <OwnersReport {...props} />
  ) : (
    <>
      <PageHead name="Report" finding={undefined}>
        How often people denied what should be denied, and how long they looked.
      </PageHead>
      <OwnerOnly api={props.api} what="The report">
        {null}
      </OwnerOnly>
    </>
  )
