import type { Api } from '../../shared/api/client.ts'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, ConfirmButton, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import type { PasskeyList, SessionList } from '../sign-in/wire.ts'
import { PasskeyForm } from './passkey-form.tsx'

type CardProps = { readonly api: Api; readonly action: Action; readonly now: number }

const PasskeysCard = ({
  passkeys,
  api,
  action,
  now,
}: CardProps & { readonly passkeys: PasskeyList['passkeys'] }) => (
  <section class="card pad" aria-labelledby="passkeys">
    <h2 class="h3" id="passkeys">
      Your passkeys
    </h2>
    <p class="muted gap">
      Removing a passkey ends every session that was signed in with it, this one too if it was.
    </p>
    <ul class="plainlist packs">
      {passkeys.map((passkey) => (
        <li key={passkey.id}>
          <span>
            <b>{passkey.name}</b>
            <span class="small block">
              {passkey.lastUsedAt === null ? (
                'never used'
              ) : (
                <>
                  last used <Moment at={passkey.lastUsedAt} now={now} />
                </>
              )}
            </span>
          </span>
          <ConfirmButton
            label="Remove"
            confirmLabel="Remove the passkey"
            disabled={action.busy}
            isDangerous
            onConfirm={() =>
              void action.run('The passkey was removed.', () =>
                api.call('DELETE', `/operator/sign-in/passkeys/${encodeURIComponent(passkey.id)}`),
              )
            }
          />
        </li>
      ))}
    </ul>
    <PasskeyForm api={api} action={action} />
  </section>
)

const SessionsCard = ({
  sessions,
  api,
  action,
  now,
}: CardProps & { readonly sessions: SessionList['sessions'] }) => (
  <section class="card pad" aria-labelledby="sign-ins">
    <h2 class="h3" id="sign-ins">
      Where you are signed in
    </h2>
    {sessions.length === 0 ? (
      <p class="muted gap">Nowhere with a passkey. This tab uses your key, and forgets it at a reload.</p>
    ) : null}
    <ul class="plainlist packs">
      {sessions.map((session) => (
        <li key={session.id}>
          <span>
            <b>{session.browser}</b> {session.isThis ? <span class="chip ok">this one</span> : null}
            <span class="small block">
              last seen <Moment at={session.lastSeenAt} now={now} />
            </span>
          </span>
          {session.isThis ? null : (
            <ConfirmButton
              label="End"
              confirmLabel="End this session"
              disabled={action.busy}
              isDangerous
              onConfirm={() =>
                void action.run('The session has ended.', () =>
                  api.call('DELETE', `/operator/sign-in/sessions/${encodeURIComponent(session.id)}`),
                )
              }
            />
          )}
        </li>
      ))}
    </ul>
    <p class="muted gap">A session ends after 12 hours, and after 30 minutes in which you do not use it.</p>
  </section>
)

const load = async (api: Api) => {
  const [{ passkeys }, { sessions }] = await Promise.all([
    api.call<PasskeyList>('GET', '/operator/sign-in/passkeys'),
    api.call<SessionList>('GET', '/operator/sign-in/sessions'),
  ])
  return { passkeys, sessions }
}

const findingOf = ({ length }: PasskeyList['passkeys']): string => {
  if (length === 0) return 'You have no passkey yet'
  return length === 1 ? 'You have 1 passkey' : `You have ${length} passkeys`
}

/** Page "Access": how this operator signs in, and where. */
export const AccessPage = ({ api }: PageProps) => {
  const loaded = useQuery(() => load(api), 'access', 15_000)
  const action = useAction(loaded.refetch)
  const data = loaded.value
  const now = Date.now()
  return (
    <>
      <PageHead name="Access" finding={data && findingOf(data.passkeys)}>
        {data?.passkeys.length === 1
          ? 'Add a second one, on another device, in case you lose the first.'
          : ' '}
      </PageHead>
      <ActionResult message={action.message} error={action.error} />
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {!data && loaded.slow ? <Skeleton /> : null}
      {data ? (
        <div class="two">
          <PasskeysCard passkeys={data.passkeys} api={api} action={action} now={now} />
          <SessionsCard sessions={data.sessions} api={api} action={action} now={now} />
        </div>
      ) : null}
    </>
  )
}
