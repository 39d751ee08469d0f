import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { Commands, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { timeAgo } from '../../shared/design/time.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { useProfile } from '../profile.ts'
import type { SessionRecord, Sessions } from '../wire.ts'
import { FloorForm } from './floor-form.tsx'
import { LandingCard } from './landing-check.tsx'
import { OriginsForm } from './origins-form.tsx'

/** A session that has ended is seen here within 5 seconds. */
const watchMs = 2_000

const snippet = (origin: string, agentId: string): string => `<script async src="${origin}/check.js"></script>
<form method="post" action="/comment">
  <textarea name="text"></textarea>
  <input type="hidden" name="challenge" value="YOUR_NONCE" />
  <pohf-check site="${agentId}" challenge="YOUR_NONCE" required></pohf-check>
  <button>Send</button>
</form>`

const verifyCommands = (origin: string): string => `curl -s ${origin}/api/agents/verify \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"sessionId":"SESSION_OF_THE_FORM","challenge":"YOUR_NONCE"}'`

const checkCommands = (origin: string): string => `npx pohf tag check https://shop.example/register \\
  --url ${origin} --key "$POHF_KEY"`

/** What was seen of the latest session that a page opened. */
const seenText = (session: SessionRecord, now: number): string => {
  if (session.endedAt === null)
    return `Somebody began the check on ${session.hostname} ${timeAgo(session.startedAt, now)}. It has not ended yet.`
  const ended = `The latest session on ${session.hostname} ended ${timeAgo(session.endedAt, now)}`
  if (session.verified === null) return `${ended}. Its score follows in seconds.`
  return `${ended} and was ${session.verified ? 'verified' : 'refused'}${session.quality === null ? '' : `, quality ${session.quality.toFixed(2)}`}.`
}

const useSeenSession = (api: Api) =>
  useQuery(
    async () => {
      const { sessions } = await api.call<Sessions>('GET', '/api/agents/sessions?limit=20')
      // Sessions of a test key without a page are simulated: they say nothing about the installation.
      return sessions.find(({ hostname }) => hostname !== null) ?? null
    },
    'seen',
    watchMs,
  )

const WatchCard = ({ session }: { session: SessionRecord | null }) => (
  <section class={`card pad watch ${session ? 'seen' : ''}`} aria-labelledby="watch">
    <h2 class="h3" id="watch">
      <span class="sign" aria-hidden="true">
        {session ? '✓' : '…'}
      </span>
      {session ? 'We saw your page' : 'Waiting for your page'}
    </h2>
    <p class="gap" role="status">
      {session
        ? seenText(session, Date.now())
        : 'Open your page and do the check once. This page asks every 2 seconds and shows it as soon as it begins.'}
    </p>
    {session ? (
      <p class="gap">
        <a href={hrefOf(['sessions', session.sessionId])}>Open this session</a>
      </p>
    ) : null}
  </section>
)

const SnippetCard = ({ agentId }: { agentId: string }) => (
  <section class="card pad" aria-labelledby="snippet">
    <h2 class="h3" id="snippet">
      1. Put the check into your page
    </h2>
    <p class="muted gap">Your server makes a new nonce for each form, and accepts each nonce once.</p>
    <Commands text={snippet(location.origin, agentId)} label="Snippet for your page" />
  </section>
)

const ServerCard = () => (
  <section class="card pad" aria-labelledby="server">
    <h2 class="h3" id="server">
      3. Ask from your server
    </h2>
    <p class="muted gap">
      The form brings the session in the field <code>pohf-session</code>. Your server sends it with the nonce
      and gets a credential, or a refusal with its reason.
    </p>
    <Commands text={verifyCommands(location.origin)} label="Command that verifies" />
  </section>
)

const CheckCard = () => (
  <section class="card pad" aria-labelledby="tag-check">
    <h2 class="h3" id="tag-check">
      It does not work?
    </h2>
    <p class="muted gap">
      This command loads your page in a browser and says what is wrong with the installation and how to mend
      it:
    </p>
    <Commands text={checkCommands(location.origin)} label="Command that checks your page" />
  </section>
)

/** Page "Install": from the snippet to the first session that the service has seen. */
export const InstallPage = ({ api }: PageProps) => {
  const profile = useProfile(api)
  const seen = useSeenSession(api)
  const error = profile.error ?? seen.error
  return (
    <>
      <PageHead
        name="Install"
        finding={
          seen.value === undefined
            ? undefined
            : seen.value
              ? 'Your page is connected'
              : 'Add the check to your page'
        }
      >
        One script and one element in the page, one call from your server.
      </PageHead>
      {error ? <ErrorNote error={error} onRetry={() => (profile.refetch(), seen.refetch())} /> : null}
      {!profile.value && profile.slow ? <Skeleton /> : null}
      {seen.value === undefined ? null : <WatchCard session={seen.value} />}
      {profile.value ? (
        <div class="two">
          <SnippetCard agentId={profile.value.agentId} />
          <OriginsForm api={api} profile={profile.value} onSaved={profile.refetch} />
          <ServerCard />
          <FloorForm api={api} profile={profile.value} onSaved={profile.refetch} />
          <LandingCard api={api} />
          <CheckCard />
        </div>
      ) : null}
    </>
  )
}
