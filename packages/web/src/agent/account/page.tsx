import { useState } from 'preact/hooks'
import { callConsole } from '../../shared/api/client.ts'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, ConfirmButton, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { addPasskey } from '../sign-in/passkey.ts'
import type { Account, ConsoleSessions, PasskeyList } from '../wire.ts'
import { ClaimForm } from './claim-form.tsx'

type CardProps = { readonly action: Action; readonly now: number }

const PasskeyForm = ({ action }: { action: Action }) => {
  const [name, setName] = useState('')
  const add = async (event: Event) => {
    event.preventDefault()
    if (await action.run('The passkey was added.', () => addPasskey(name.trim()))) setName('')
  }
  return (
    <form class="paste" onSubmit={(event) => void add(event)}>
      <label for="passkey-name">
        Name <span class="faint">optional, to tell your devices apart</span>
      </label>
      <input
        id="passkey-name"
        maxLength={60}
        placeholder="Laptop"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <p>
        <button class="btn main" type="submit" disabled={action.busy}>
          Add a passkey
        </button>
      </p>
    </form>
  )
}

const PasskeysCard = ({
  passkeys,
  action,
  now,
}: CardProps & { readonly passkeys: PasskeyList['passkeys'] }) => (
  <section class="card pad" aria-labelledby="passkeys">
    <h2 class="h3" id="passkeys">
      Your passkeys
    </h2>
    <p class="muted gap">
      A passkey signs you in without a mail, by your fingerprint or the lock of your device.
    </p>
    <ul class="plainlist packs">
      {passkeys.map((passkey) => (
        <li key={passkey.id}>
          <span>
            <b>{passkey.name}</b>
            <span class="small block">
              {passkey.lastUsedAt === null ? 'never used' : <Moment at={passkey.lastUsedAt} now={now} />}
            </span>
          </span>
          <ConfirmButton
            label="Remove"
            confirmLabel="Remove the passkey"
            disabled={action.busy}
            isDangerous
            onConfirm={() =>
              void action.run('The passkey was removed.', () =>
                callConsole('DELETE', `/console/passkeys/${encodeURIComponent(passkey.id)}`),
              )
            }
          />
        </li>
      ))}
    </ul>
    <PasskeyForm action={action} />
  </section>
)

const SessionsCard = ({
  sessions,
  action,
  now,
}: CardProps & { readonly sessions: ConsoleSessions['sessions'] }) => (
  <section class="card pad" aria-labelledby="sign-ins">
    <h2 class="h3" id="sign-ins">
      Where you are signed in
    </h2>
    <ul class="plainlist packs">
      {sessions.map((session) => (
        <li key={session.id}>
          <span>
            <b>{session.browser}</b> {session.isThis ? <span class="chip ok">this one</span> : null}
            <span class="small block">
              by {session.signedInBy}, last seen <Moment at={session.lastSeenAt} now={now} />
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
                  callConsole('DELETE', `/console/sessions/${encodeURIComponent(session.id)}`),
                )
              }
            />
          )}
        </li>
      ))}
    </ul>
  </section>
)

const reloadPage = (): void => location.reload()

const AgentsCard = ({ account, action, now }: CardProps & { readonly account: Account }) => (
  <section class="card pad" aria-labelledby="agents">
    <h2 class="h3" id="agents">
      Agents of this account
    </h2>
    <dl class="facts">
      {(['test', 'live'] as const).map((mode) => (
        <div key={mode}>
          <dt>{mode}</dt>
          <dd>{account.agents[mode] ? <code>{account.agents[mode].id}</code> : 'none'}</dd>
        </div>
      ))}
    </dl>
    {account.claimable.map((agent) => (
      <ClaimForm key={agent.id} agent={agent} action={action} now={now} />
    ))}
  </section>
)

const AccountsCard = ({ account, action }: { account: Account; action: Action }) => {
  const others = account.accounts.filter(({ id }) => id !== account.account.id)
  if (others.length + account.invitations.length === 0) return null
  const enter = (path: string, accountId: string) =>
    void action.run('The account changes.', async () => {
      await callConsole('POST', path, { accountId })
      reloadPage()
    })
  return (
    <section class="card pad" aria-labelledby="accounts">
      <h2 class="h3" id="accounts">
        Other accounts
      </h2>
      <ul class="plainlist packs">
        {others.map(({ id, name, role }) => (
          <li key={id}>
            <span>
              <b>{name}</b> as {role}
            </span>
            <button
              type="button"
              class="btn"
              disabled={action.busy}
              onClick={() => enter('/console/switch', id)}
            >
              Open<span class="hidden"> {name}</span>
            </button>
          </li>
        ))}
        {account.invitations.map(({ accountId, accountName, invitedBy, role }) => (
          <li key={accountId}>
            <span>
              <b>{accountName}</b> as {role}
              <span class="small muted block">{invitedBy} invites you</span>
            </span>
            <button
              type="button"
              class="btn main"
              disabled={action.busy}
              onClick={() => enter('/console/join', accountId)}
            >
              Join<span class="hidden"> {accountName}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

const load = async () => {
  const [account, passkeys, sessions] = await Promise.all([
    callConsole<Account>('GET', '/console/account'),
    callConsole<PasskeyList>('GET', '/console/passkeys'),
    callConsole<ConsoleSessions>('GET', '/console/sessions'),
  ])
  return { account, passkeys: passkeys.passkeys, sessions: sessions.sessions }
}

/** Page "Sign-in and agents": how this person signs in, and which agents the account has. */
export const AccountPage = () => {
  const loaded = useQuery(load, 'account', 15_000)
  const action = useAction(loaded.refetch)
  const data = loaded.value
  const now = Date.now()
  return (
    <>
      <PageHead name="Sign-in and agents" finding={data?.account.account.name}>
        {data ? `You are ${data.account.person.email}, ${data.account.person.role}.` : ' '}
      </PageHead>
      <ActionResult message={action.message} error={action.error} />
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {!data && loaded.slow ? <Skeleton /> : null}
      {data ? (
        <div class="two">
          <PasskeysCard passkeys={data.passkeys} action={action} now={now} />
          <SessionsCard sessions={data.sessions} action={action} now={now} />
          <AgentsCard account={data.account} action={action} now={now} />
          <AccountsCard account={data.account} action={action} />
        </div>
      ) : null}
    </>
  )
}
