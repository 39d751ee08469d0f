import type { Api } from '../../shared/api/client.ts'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { pluralize } from '../../shared/design/time.ts'
import { ListBody, useListPage } from '../../shared/lists/list-view.tsx'
import type { PageProps } from '../../shared/shell/frame.tsx'
import { ReasonAction } from '../reason-action.tsx'
import type { TrustRoot, TrustRoots } from '../wire.ts'
import { AddForm } from './add-form.tsx'
import { trustKindText } from './kinds.ts'

const RemoveForm = ({ api, root, action }: { api: Api; root: TrustRoot; action: Action }) => {
  const { kind, name } = root
  return (
    <ReasonAction
      id={`remove-${kind}-${name}`}
      label="Remove"
      name={name}
      look="stop"
      busy={action.busy}
      onSubmit={(reason) =>
        void action.run(`${name} is no longer trusted.`, () =>
          api.call('POST', '/operator/trust/remove', { kind, name, reason }),
        )
      }
    />
  )
}

const RootsTable = (props: { api: Api; roots: readonly TrustRoot[]; action: Action }) => {
  const now = Date.now()
  return (
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Root</th>
          <th scope="col">Mode</th>
          <th scope="col" class="num">
            Agents
          </th>
          <th scope="col">Reason</th>
          <th scope="col">Added, UTC</th>
          <th scope="col">
            <span class="hidden">Action</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {props.roots.map((root) => (
          <tr key={`${root.kind} ${root.name}`}>
            <th scope="row" class="address">
              {trustKindText(root.kind)} <CopyId value={root.name} label="trust root" />
            </th>
            <td data-label="Mode">
              {root.mode}
              {root.requireDigest ? ', with the body' : ''}
            </td>
            <td class="num" data-label="Agents">
              {root.agents}
            </td>
            <td class="cut">{root.reason}</td>
            <td>
              <Moment at={root.addedAt} now={now} />
            </td>
            <td>
              <RemoveForm api={props.api} root={root} action={props.action} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const finding = ({ roots }: TrustRoots): string =>
  roots.length === 0
    ? 'Only API keys order'
    : `Agents of ${pluralize(roots.length, 'trust root')} order without a key`

/** Page "Trust": whose agents may order without an API key. */
export const TrustPage = ({ api }: PageProps) => {
  const loaded = useListPage<TrustRoots>(api, '/operator/trust', {})
  const action = useAction(loaded.refetch)
  const page = loaded.value
  return (
    <>
      <PageHead name="Trust" finding={page ? finding(page) : undefined}>
        An agent orders without an API key if its request is signed by a key of a trust root, or carries
        mandates of an issuer here. A person still pays each live order.
      </PageHead>
      <ActionResult message={action.message} error={action.error} />
      <ListBody
        loaded={loaded}
        count={page?.roots.length}
        empty={<p class="card pad muted">No root is trusted. Add one below, once you know who runs it.</p>}
      >
        <section class="card pad" aria-label="Trust roots">
          <RootsTable api={api} roots={page?.roots ?? []} action={action} />
        </section>
      </ListBody>
      <AddForm api={api} action={action} />
    </>
  )
}
