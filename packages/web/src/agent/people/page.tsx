import { useState } from 'preact/hooks'
import { callConsole, type AccountAccess } from '../../shared/api/client.ts'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, ConfirmButton } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { formatUtc, pluralize } from '../../shared/design/time.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { ListBody } from '../../shared/lists/list-view.tsx'
import type { People, Person } from '../wire.ts'

type Role = AccountAccess['role']
const roleTexts: Readonly<Record<Role, string>> = {
  owner: 'Owner: everything, with people, live keys and billing',
  developer: 'Developer: everything but people, live keys and billing',
  viewer: 'Viewer: reads only',
}
const roles = Object.keys(roleTexts) as Role[]

const RoleSelect = (props: {
  id: string
  value: Role
  isDisabled: boolean
  /** Whether each role is explained. */
  isLong: boolean
  onRole: (role: Role) => void
}) => (
  <select
    id={props.id}
    value={props.value}
    disabled={props.isDisabled}
    onChange={(event) => props.onRole(event.currentTarget.value as Role)}
  >
    {roles.map((role) => (
      <option key={role} value={role}>
        {props.isLong ? roleTexts[role] : role}
      </option>
    ))}
  </select>
)

const InviteForm = ({ account, action }: { account: AccountAccess; action: Action }) => {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('developer')
  const submit = async (event: Event) => {
    event.preventDefault()
    const body = { email: email.trim(), role, accountId: account.id }
    const isSent = await action.run(`${body.email} was invited.`, () =>
      callConsole('POST', '/console/people', body),
    )
    if (isSent) setEmail('')
  }
  return (
    <section class="card pad" aria-labelledby="invite">
      <h2 class="h3" id="invite">
        Invite a colleague
      </h2>
      <form class="paste" onSubmit={(event) => void submit(event)}>
        <label for="colleague">Mail address</label>
        <input
          id="colleague"
          type="email"
          required
          maxLength={254}
          value={email}
          onInput={(event) => setEmail(event.currentTarget.value)}
        />
        <label for="colleague-role">Role</label>
        <RoleSelect id="colleague-role" value={role} isDisabled={false} isLong onRole={setRole} />
        <p>
          <button class="btn main" type="submit" disabled={action.busy}>
            Send the invitation
          </button>
        </p>
      </form>
    </section>
  )
}

/** The account that this page shows: in another tab the session may have moved to another one. */
const inAccount = (path: string, { id }: AccountAccess): string =>
  `${path}?accountId=${encodeURIComponent(id)}`

type RowProps = {
  readonly person: Person
  readonly account: AccountAccess
  readonly action: Action
  readonly now: number
}

const PersonRow = ({ person, account, action, now }: RowProps) => {
  const path = `/console/people/${encodeURIComponent(person.id)}`
  const isOwner = account.role === 'owner'
  return (
    <tr>
      <th scope="row" class="address">
        {person.email}
        {person.isYou ? <span class="small muted"> you</span> : null}
      </th>
      <td>
        <label class="hidden" for={`role-${person.id}`}>
          Role of {person.email}
        </label>
        <RoleSelect
          id={`role-${person.id}`}
          value={person.role}
          isDisabled={!isOwner || action.busy}
          isLong={false}
          onRole={(role) =>
            void action.run(`${person.email} is ${role} now.`, () =>
              callConsole('PATCH', path, { role, accountId: account.id }),
            )
          }
        />
      </td>
      <td class="wide-only">
        {person.lastSeenAt === null ? 'never' : <Moment at={person.lastSeenAt} now={now} />}
      </td>
      <td>
        {isOwner || person.isYou ? (
          <ConfirmButton
            label={person.isYou ? 'Leave' : 'Remove'}
            confirmLabel={person.isYou ? 'Leave this account' : 'Remove: it ends their sessions'}
            disabled={action.busy}
            isDangerous
            onConfirm={() =>
              void action.run(`${person.email} was removed.`, () =>
                callConsole('DELETE', inAccount(path, account)),
              )
            }
          />
        ) : null}
      </td>
    </tr>
  )
}

const PeopleTable = ({
  people,
  ...row
}: Omit<RowProps, 'person'> & { readonly people: readonly Person[] }) => (
  <section class="card pad" aria-label="People">
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Person</th>
          <th scope="col">Role</th>
          <th scope="col" class="wide-only">
            Last seen, UTC
          </th>
          <th scope="col">
            <span class="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {people.map((person) => (
          <PersonRow key={person.id} person={person} {...row} />
        ))}
      </tbody>
    </table>
  </section>
)

type InvitationsProps = {
  readonly people: People
  readonly account: AccountAccess
  readonly action: Action
}
const Invitations = ({ people, account, action }: InvitationsProps) =>
  people.invitations.length === 0 ? null : (
    <section class="card pad" aria-labelledby="invitations">
      <h2 class="h3" id="invitations">
        Invited, not here yet
      </h2>
      <ul class="plainlist packs">
        {people.invitations.map((invitation) => (
          <li key={invitation.id}>
            <span class="address">
              <b>{invitation.email}</b> as {invitation.role}
              <span class="small muted block">
                by {invitation.invitedBy}, until {formatUtc(invitation.expiresAt)}
              </span>
            </span>
            {account.role === 'owner' ? (
              <ConfirmButton
                label="Withdraw"
                confirmLabel="Withdraw the invitation"
                disabled={action.busy}
                onConfirm={() =>
                  void action.run('The invitation was withdrawn.', () =>
                    callConsole(
                      'DELETE',
                      inAccount(`/console/invitations/${encodeURIComponent(invitation.id)}`, account),
                    ),
                  )
                }
              />
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  )

const AccountPeople = ({ account }: { account: AccountAccess }) => {
  const loaded = useQuery(() => callConsole<People>('GET', '/console/people'), 'people', 15_000)
  const action = useAction(loaded.refetch)
  const people = loaded.value
  const isOwner = account.role === 'owner'
  return (
    <>
      <PageHead
        name="People"
        finding={
          people ? `${pluralize(people.people.length, 'person', 'people')} can open this account` : undefined
        }
      >
        {isOwner
          ? 'Each signs in with a mail link or a passkey of their own.'
          : 'Only an owner invites people and changes roles.'}
      </PageHead>
      <ActionResult message={action.message} error={action.error} />
      <ListBody loaded={loaded} count={people?.people.length} empty={null}>
        <PeopleTable people={people?.people ?? []} account={account} action={action} now={Date.now()} />
      </ListBody>
      {people ? (
        <div class="two">
          {isOwner ? <InviteForm account={account} action={action} /> : null}
          <Invitations people={people} account={account} action={action} />
        </div>
      ) : null}
    </>
  )
}

/** Page "People": who can open the console of this account, and what they may do. */
export const PeoplePage = ({ api }: PageProps) =>
  api.account ? <AccountPeople account={api.account} /> : null
