import { useState } from 'preact/hooks'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, ConfirmButton } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { ListBody } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import type { ActionTypeRecord, ActionTypes } from '../wire.ts'
import { isOwner, OwnerOnly } from './parts.tsx'
import { TypeForm } from './type-form.tsx'

const policyText = ({ policy }: ActionTypeRecord): string =>
  [
    pluralize(policy.quorum, 'person', 'people'),
    `${policy.minSeconds} s in view`,
    policy.passkey === 'any' ? 'any passkey' : 'passkey in hardware',
    ...(policy.delaySeconds === 0 ? [] : [`${policy.delaySeconds} s to object`]),
  ].join(', ')

type RowProps = {
  readonly record: ActionTypeRecord
  readonly now: number
  readonly action: Action
  readonly isOwned: boolean
  readonly onEdit: (record: ActionTypeRecord) => void
  readonly onRetire: (record: ActionTypeRecord) => void
}

const TypeRow = ({ record, now, action, isOwned, onEdit, onRetire }: RowProps) => (
  <tr>
    <th scope="row" class="address">
      {record.title}
      <code class="small block">
        {record.type} version {record.version}
      </code>
    </th>
    <td data-label="Critical" class="address">
      {record.critical.map((path) => record.labels[path] ?? path).join(', ')}
    </td>
    <td data-label="Policy">{policyText(record)}</td>
    <td class="wide-only">
      <Moment at={record.createdAt} now={now} />
    </td>
    <td>
      {isOwned ? (
        <div class="acts">
          <button type="button" class="btn" onClick={() => onEdit(record)}>
            Change<span class="hidden"> {record.type}</span>
          </button>
          <ConfirmButton
            label="Retire"
            confirmLabel="Retire: the strictest policy applies then"
            disabled={action.busy}
            isDangerous
            onConfirm={() => onRetire(record)}
          />
        </div>
      ) : null}
    </td>
  </tr>
)

const TypeTable = ({
  types,
  ...row
}: Omit<RowProps, 'record' | 'now'> & { readonly types: readonly ActionTypeRecord[] }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Action types">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Action type</th>
            <th scope="col">Critical fields</th>
            <th scope="col">Policy</th>
            <th scope="col" class="wide-only">
              Since, UTC
            </th>
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {types.map((record) => (
            <TypeRow key={record.type} record={record} now={now} {...row} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

const pathOf = (type: string): string => `/api/agents/approval-types/${encodeURIComponent(type)}`

/** What agents may ask about: fields, labels and policies. */
export const TypesPart = ({ api }: PageProps) => {
  const loaded = useQuery(() => api.call<ActionTypes>('GET', '/api/agents/approval-types'), 'types', 30_000)
  const action = useAction(loaded.refetch)
  const [edited, setEdited] = useState<ActionTypeRecord>()
  const types = loaded.value?.types
  return (
    <>
      <PageHead
        name="Action types"
        finding={
          types
            ? types.length === 0
              ? 'No action type yet'
              : `${pluralize(types.length, 'action type is', 'action types are')} in use`
            : undefined
        }
      >
        A type says how an action is checked and shown, and what a decision needs. A request can raise the
        policy and never lowers it. Without a type the strictest policy applies.
      </PageHead>
      <ActionResult message={action.message} error={action.error} />
      <ListBody loaded={loaded} count={types?.length} empty={null}>
        <TypeTable
          types={types ?? []}
          action={action}
          isOwned={isOwner(api)}
          onEdit={setEdited}
          onRetire={({ type }) =>
            void action.run(`${type} is retired.`, () => api.call('DELETE', pathOf(type)))
          }
        />
      </ListBody>
      {types ? (
        <div class="below-list">
          <OwnerOnly api={api} what="Register an action type">
            <TypeForm
              key={edited ? `${edited.type} ${edited.version}` : ''}
              api={api}
              edited={edited}
              busy={action.busy}
              onWrite={(type, body) =>
                action.run(`${type} is registered.`, async () => {
                  await api.call('POST', pathOf(type), body)
                  setEdited(undefined)
                })
              }
            />
          </OwnerOnly>
        </div>
      ) : null}
    </>
  )
}
