import { useState } from 'preact/hooks'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { ActionResult, Commands, SecretNote } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { formatUtc } from '../../shared/design/time.ts'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { ListBody, Pager, useListPage } from '../../shared/lists/list-view.tsx'
import type { Invitation, Member, Members } from '../wire.ts'
import { InviteForm } from './invite-form.tsx'
import { membersFinding, memberStatusLabels } from './messages.ts'

const inviteCommands = (origin: string): string => `curl -s ${origin}/api/agents/members \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"externalRef":"user-4711"}'`

type RowProps = {
  readonly member: Member
  readonly now: number
  readonly action: Action
  readonly onNewLink: (memberId: string) => void
}

const MemberRow = ({ member, now, action, onNewLink }: RowProps) => {
  const { word, tone, next } = memberStatusLabels[member.status]
  return (
    <tr>
      <th scope="row">
        {member.externalRef === null ? null : <span class="block">{member.externalRef}</span>}
        <CopyId value={member.memberId} label="member" />
      </th>
      <td>
        <span class={`chip ${tone}`}>{word}</span>
        <span class="small muted block">{next}</span>
      </td>
      <td class="wide-only">
        {member.uniqueness}
        {member.methods.length === 0 ? null : (
          <span class="small muted block">{member.methods.join(', ')}</span>
        )}
      </td>
      <td class="num wide-only">{member.quality === null ? '–' : member.quality.toFixed(2)}</td>
      <td class="wide-only">
        {member.checkedAt === null ? 'never' : <Moment at={member.checkedAt} now={now} />}
      </td>
      <td class="wide-only">
        <Moment at={member.createdAt} now={now} />
      </td>
      <td>
        {member.status === 'withdrawn' ? null : (
          <button type="button" class="btn" disabled={action.busy} onClick={() => onNewLink(member.memberId)}>
            New link<span class="hidden"> for {member.externalRef ?? member.memberId}</span>
          </button>
        )}
      </td>
    </tr>
  )
}

const MemberTable = (props: Omit<RowProps, 'member' | 'now'> & { readonly members: readonly Member[] }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Members">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">State</th>
            <th scope="col" class="wide-only">
              Uniqueness
            </th>
            <th scope="col" class="num wide-only">
              Quality
            </th>
            <th scope="col" class="wide-only">
              Last check, UTC
            </th>
            <th scope="col" class="wide-only">
              Invited, UTC
            </th>
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {props.members.map((member) => (
            <MemberRow key={member.memberId} {...props} member={member} now={now} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Page "Members": the people whom the agent has invited. */
export const MembersPage = ({ api, query }: PageProps) => {
  const cursor = query.get('cursor')
  const loaded = useListPage<Members>(api, '/api/agents/members', {
    limit: '25',
    after: cursor ?? undefined,
  })
  const [invitation, setInvitation] = useState<Invitation>()
  const action = useAction(loaded.refetch)
  const page = loaded.value
  const invite = (body: object) =>
    action.run('The link is ready.', async () =>
      setInvitation(await api.call<Invitation>('POST', '/api/agents/members', body)),
    )
  return (
    <>
      <PageHead
        name="Members"
        finding={page ? membersFinding(page.members, { cursor, nextCursor: page.nextCursor }) : undefined}
      >
        Members are people who enrolled with you. Each is a different person, as far as the column Uniqueness
        says.
      </PageHead>
      <ActionResult message={invitation ? '' : action.message} error={action.error} />
      {invitation ? (
        <SecretNote
          secret={invitation.enrolUrl}
          label="Invitation link"
          onDone={() => setInvitation(undefined)}
        >
          For this person only, until {formatUtc(invitation.expiresAt)}. Whoever opens it enrols as this
          member.
        </SecretNote>
      ) : null}
      <ListBody loaded={loaded} count={page?.members.length} empty={null}>
        <MemberTable
          members={page?.members ?? []}
          action={action}
          onNewLink={(memberId) => void invite({ memberId })}
        />
        <Pager path="members" values={{}} cursor={cursor} nextCursor={page?.nextCursor ?? null} />
      </ListBody>
      {page ? (
        <div class="two">
          <InviteForm
            busy={action.busy}
            onInvite={(externalRef) => invite(externalRef === '' ? {} : { externalRef })}
          />
          <section class="card pad" aria-labelledby="invite-command">
            <h2 class="h3" id="invite-command">
              Or from your server
            </h2>
            <p class="muted gap">Your server asks for a link when a person of yours wants to enrol:</p>
            <Commands text={inviteCommands(location.origin)} label="Command that invites" />
          </section>
        </div>
      ) : null}
    </>
  )
}
