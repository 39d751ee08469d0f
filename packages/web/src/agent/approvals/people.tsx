import { useState } from 'preact/hooks'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, ConfirmButton } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { ListBody } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import type { Approver, Approvers, Issuers } from '../wire.ts'
import { Groups } from './groups.tsx'
import { approverLabels } from './messages.ts'
import { Field, isOwner, OwnerHint, OwnerOnly } from './parts.tsx'

const finding = (approvers: readonly Approver[]): string => {
  const enrolled = approvers.filter(({ status }) => status === 'enrolled').length
  return enrolled === 0 ? 'Nobody can approve yet' : `${pluralize(enrolled, 'person', 'people')} can approve`
}

type RowProps = {
  readonly approver: Approver
  readonly now: number
  readonly action: Action
  readonly isOwned: boolean
  readonly onRemove: (approver: Approver) => void
}
const ApproverRow = ({ approver, now, action, isOwned, onRemove }: RowProps) => {
  const { word, tone, text } = approverLabels[approver.status]
  return (
    <tr>
      <th scope="row" class="address">
        {approver.name}
        <span class="small muted block">{approver.email}</span>
        <CopyId value={approver.approver} label="approver" />
      </th>
      <td>
        <span class={`chip ${tone}`}>{word}</span>
        <span class="small muted block">{text}</span>
        {approver.issuer === null ? null : (
          <span class="small muted block">signs in with {approver.issuer}</span>
        )}
      </td>
      <td class="wide-only">
        <Moment at={approver.createdAt} now={now} />
      </td>
      <td>
        {isOwned && approver.status !== 'removed' ? (
          <ConfirmButton
            label="Remove"
            confirmLabel={`Remove ${approver.name}`}
            disabled={action.busy}
            isDangerous
            onConfirm={() => onRemove(approver)}
          />
        ) : null}
      </td>
    </tr>
  )
}

const ApproverTable = ({
  approvers,
  ...row
}: Omit<RowProps, 'approver' | 'now'> & { readonly approvers: readonly Approver[] }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Approvers">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Person</th>
            <th scope="col">State</th>
            <th scope="col" class="wide-only">
              Invited, UTC
            </th>
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {approvers.map((approver) => (
            <ApproverRow key={approver.approver} approver={approver} now={now} {...row} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

const InviteForm = ({ api, action }: Pick<PageProps, 'api'> & { action: Action }) => {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [issuer, setIssuer] = useState('')
  const known = useQuery(() => api.call<Issuers>('GET', '/api/agents/issuers'), 'issuers')
  const companies = known.value?.issuers.filter(({ kind }) => kind === 'organization') ?? []
  const submit = async (event: Event) => {
    event.preventDefault()
    const body = { name: name.trim(), email: email.trim(), ...(issuer === '' ? {} : { issuer }) }
    const isSent = await action.run(`A mail is on its way to ${body.email}.`, () =>
      api.call('POST', '/api/agents/approvers', body),
    )
    if (!isSent) return
    setName('')
    setEmail('')
  }
  return (
    <section class="card pad" aria-labelledby="invite-approver">
      <h2 class="h3" id="invite-approver">
        Invite a person to approve
      </h2>
      <OwnerHint api={api} />
      <p class="muted gap">
        The person opens the link in the mail and makes a passkey. Only then can they decide.
      </p>
      <form class="paste" onSubmit={(event) => void submit(event)}>
        <Field id="approver-name" label="Name" hint="as the report and other approvers read it">
          <input
            id="approver-name"
            required
            maxLength={80}
            autocomplete="off"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </Field>
        <Field id="approver-email" label="Mail address">
          <input
            id="approver-email"
            type="email"
            required
            maxLength={254}
            autocomplete="off"
            value={email}
            onInput={(event) => setEmail(event.currentTarget.value)}
          />
        </Field>
        {companies.length === 0 ? null : (
          <Field
            id="approver-issuer"
            label="Company"
            hint="the person signs in with it before they decide, every day"
          >
            <select
              id="approver-issuer"
              value={issuer}
              onChange={(event) => setIssuer(event.currentTarget.value)}
            >
              <option value="">None: the passkey alone</option>
              {companies.map(({ name: id, issuerId }) => (
                <option key={id} value={id}>
                  {issuerId}
                </option>
              ))}
            </select>
          </Field>
        )}
        <p>
          <button class="btn main" type="submit" disabled={action.busy}>
            Send the invitation
          </button>
        </p>
      </form>
    </section>
  )
}

/** Who may approve, alone and in groups. */
export const PeoplePart = ({ api }: PageProps) => {
  const loaded = useQuery(() => api.call<Approvers>('GET', '/api/agents/approvers'), 'approvers', 15_000)
  const action = useAction(loaded.refetch)
  const approvers = loaded.value?.approvers
  return (
    <>
      <PageHead name="Approvers" finding={approvers ? finding(approvers) : undefined}>
        Owners choose who approves. A request names people of this list; the agent that asks cannot add
        anybody.
      </PageHead>
      <ActionResult message={action.message} error={action.error} />
      <ListBody loaded={loaded} count={approvers?.length} empty={null}>
        <ApproverTable
          approvers={approvers ?? []}
          action={action}
          isOwned={isOwner(api)}
          onRemove={({ approver, name }) =>
            void action.run(`${name} was removed.`, () =>
              api.call('DELETE', `/api/agents/approvers/${encodeURIComponent(approver)}`),
            )
          }
        />
      </ListBody>
      {approvers ? (
        <div class="below-list two">
          <OwnerOnly api={api} what="Invite approvers and make groups">
            <InviteForm api={api} action={action} />
          </OwnerOnly>
          <Groups api={api} approvers={approvers} />
        </div>
      ) : null}
    </>
  )
}
