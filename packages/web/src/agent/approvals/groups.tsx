import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, ConfirmButton, ErrorNote } from '../../shared/design/components.tsx'
import type { Approver, ApproverGroups } from '../wire.ts'
import { Field, isOwner, PeopleChoice } from './parts.tsx'

const pathOf = (name: string) => `/api/agents/approver-groups/${encodeURIComponent(name)}`

const GroupForm = ({ api, people, action }: { api: Api; people: readonly Approver[]; action: Action }) => {
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const submit = async (event: Event) => {
    event.preventDefault()
    const isDone = await action.run(`The group ${name.trim()} is saved.`, () =>
      api.call('POST', pathOf(name.trim()), { approvers: chosen }),
    )
    if (!isDone) return
    setName('')
    setChosen([])
  }
  return (
    <form class="paste gap" onSubmit={(event) => void submit(event)}>
      <Field id="group-name" label="Name of the group" hint="the same name changes the group">
        <input
          id="group-name"
          required
          maxLength={64}
          placeholder="finance"
          autocomplete="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </Field>
      <PeopleChoice legend="People" people={people} chosen={chosen} onChange={setChosen} />
      <p>
        <button class="btn" type="submit" disabled={action.busy || chosen.length === 0 || chosen.length > 10}>
          Save the group
        </button>
      </p>
    </form>
  )
}

/** Groups of approvers: a request can name one in place of people. */
export const Groups = ({ api, approvers }: { api: Api; approvers: readonly Approver[] }) => {
  const loaded = useQuery(
    () => api.call<ApproverGroups>('GET', '/api/agents/approver-groups'),
    'groups',
    15_000,
  )
  const action = useAction(loaded.refetch)
  const names = new Map(approvers.map(({ approver, name }) => [approver, name]))
  const groups = loaded.value?.groups ?? []
  const people = approvers.filter(({ status }) => status !== 'removed')
  return (
    <section class="card pad" aria-labelledby="groups">
      <h2 class="h3" id="groups">
        Groups
      </h2>
      <p class="muted gap">
        A request names a group in place of people. It is resolved when the request is made.
      </p>
      <ActionResult message={action.message} error={action.error} />
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {loaded.value && groups.length === 0 ? <p class="gap">No group yet.</p> : null}
      <ul class="plainlist packs">
        {groups.map(({ name, approvers: ids }) => (
          <li key={name}>
            <span class="address">
              <b>{name}</b>
              <span class="small muted block">{ids.map((id) => names.get(id) ?? id).join(', ')}</span>
            </span>
            {isOwner(api) ? (
              <ConfirmButton
                label="Remove"
                confirmLabel={`Remove the group ${name}`}
                disabled={action.busy}
                isDangerous
                onConfirm={() =>
                  void action.run(`The group ${name} was removed.`, () => api.call('DELETE', pathOf(name)))
                }
              />
            ) : null}
          </li>
        ))}
      </ul>
      {isOwner(api) && people.length > 0 ? <GroupForm api={api} people={people} action={action} /> : null}
    </section>
  )
}
