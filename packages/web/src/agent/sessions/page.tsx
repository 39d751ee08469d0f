import { Commands } from '../../shared/design/components.tsx'
import { formatMilliseconds } from '../../shared/design/duration.ts'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { timeAgo } from '../../shared/design/time.ts'
import { formatUnit } from '../../shared/plots/scale.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { matchText } from '../../shared/lists/count.ts'
import { filterValues, periodFilter } from '../../shared/lists/filter.ts'
import { Filters } from '../../shared/lists/filters.tsx'
import { FindForm } from '../../shared/lists/find-form.tsx'
import { ListBody, NoMatch, Pager, stepThroughRows, useListPage } from '../../shared/lists/list-view.tsx'
import type { SessionRecord, Sessions } from '../wire.ts'
import { sessionFilters, sessionLabel } from './messages.ts'
import { SessionView } from './session-view.tsx'

const filters = [...sessionFilters, periodFilter()]
const filterNames = filters.map(({ name }) => name)

const testCommands = (origin: string): string => `curl -s ${origin}/api/test/sessions \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"profile":"human"}'`

const NoSessions = ({ isTest }: { isTest: boolean }) => (
  <section class="card pad" aria-labelledby="first-session">
    <h2 class="h3" id="first-session">
      {isTest ? 'Simulate the first one' : 'Add the check to your page'}
    </h2>
    <p class="muted gap">
      {isTest
        ? 'The profiles are human, bot, replay and idle. Each is scored like a real session:'
        : 'A session begins when a person starts the check on your page.'}
    </p>
    {isTest ? (
      <Commands text={testCommands(location.origin)} label="Command that simulates a session" />
    ) : (
      <p class="gap">
        <a class="btn main" href="#/install">
          Install the check
        </a>
      </p>
    )}
  </section>
)

const SessionTableRow = ({ session, now }: { session: SessionRecord; now: number }) => {
  const [word, tone] = sessionLabel(session)
  const { sessionId, quality } = session
  const noticed = session.flags.length + session.reasons.filter((code) => !code.startsWith('flag_')).length
  return (
    <tr>
      <th scope="row">
        <a class="id" href={hrefOf(['sessions', sessionId])} title={sessionId}>
          {sessionId.length > 18 ? `${sessionId.slice(0, 10)}…${sessionId.slice(-4)}` : sessionId}
        </a>
        {session.hostname === null ? null : <span class="small muted block">{session.hostname}</span>}
      </th>
      <td>
        <span class={`chip ${tone}`}>{word}</span>
        {noticed === 0 ? null : (
          <span class="small muted block">
            {[...new Set([...session.flags, ...session.reasons])][0]?.replaceAll('_', ' ')}
            {noticed > 1 ? `, ${noticed - 1} more` : ''}
          </span>
        )}
      </td>
      <td class="wide-only">
        {session.kind}
        {session.simulated ? <span class="small muted block">simulated</span> : null}
      </td>
      <td class="num">{quality === null ? '–' : formatUnit(quality)}</td>
      <td class="num wide-only">
        {session.durationMs === null ? '–' : formatMilliseconds(session.durationMs)}
      </td>
      <td class="wide-only">{session.credentialId === null ? 'none' : 'minted'}</td>
      <td class="wide-only">
        <Moment at={session.startedAt} now={now} />
      </td>
    </tr>
  )
}

const SessionTable = ({ sessions, now }: { sessions: readonly SessionRecord[]; now: number }) => (
  <section class="card pad" aria-label="Sessions">
    <table>
      <thead>
        <tr>
          <th scope="col">Session</th>
          <th scope="col">Result</th>
          <th scope="col" class="wide-only">
            Kind
          </th>
          <th scope="col" class="num">
            Quality
          </th>
          <th scope="col" class="num wide-only">
            Duration
          </th>
          <th scope="col" class="wide-only">
            Credential
          </th>
          <th scope="col" class="wide-only">
            Began, UTC
          </th>
        </tr>
      </thead>
      <tbody onKeyDown={stepThroughRows}>
        {sessions.map((session) => (
          <SessionTableRow key={session.sessionId} session={session} now={now} />
        ))}
      </tbody>
    </table>
  </section>
)

const finding = (
  { sessions, nextCursor }: Sessions,
  now: number,
  isFiltered: boolean,
  cursor: string | null,
): string => {
  if (isFiltered) return matchText(sessions.length, 'session', { cursor, nextCursor })
  const [latest] = sessions
  if (!latest) return 'No session yet'
  return `The latest session began ${timeAgo(latest.startedAt, now)}`
}

const ListView = ({ api, query }: PageProps) => {
  const values = filterValues(query, filterNames)
  const cursor = query.get('cursor')
  const { period, ...wanted } = values
  const now = Date.now()
  const loaded = useListPage<Sessions>(api, '/api/agents/sessions', {
    limit: '50',
    ...wanted,
    since: { last: period },
    cursor: cursor ?? undefined,
  })
  const page = loaded.value
  const isFiltered = Object.values(values).some((value) => value !== undefined) || cursor !== null
  return (
    <>
      <PageHead name="Sessions" finding={page ? finding(page, now, isFiltered, cursor) : undefined}>
        Each visit to the check, with its score. A recording can be replayed as long as it is kept.
      </PageHead>
      <div class="listhead">
        <Filters path="sessions" query={query} filters={filters} />
        <FindForm
          label="By id"
          placeholder="ses_…"
          onFind={(id) => (location.hash = hrefOf(['sessions', id]))}
        />
      </div>
      <ListBody
        loaded={loaded}
        count={page?.sessions.length}
        empty={
          isFiltered ? (
            <NoMatch what="sessions" hasMore={page !== undefined && page.nextCursor !== null} />
          ) : (
            <NoSessions isTest={api.mode === 'test'} />
          )
        }
      >
        <SessionTable sessions={page?.sessions ?? []} now={now} />
      </ListBody>
      <Pager path="sessions" values={values} cursor={cursor} nextCursor={page?.nextCursor ?? null} />
    </>
  )
}

/** Page "Sessions": the list, or one session. */
export const SessionsPage = (props: PageProps) =>
  props.rest[0] === undefined ? (
    <ListView {...props} />
  ) : (
    <SessionView key={props.rest[0]} api={props.api} sessionId={props.rest[0]} />
  )
