import type { Scope } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useAction, type Action } from '../../shared/api/use-action.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { ActionResult, Commands, ConfirmButton, SecretNote } from '../../shared/design/components.tsx'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { formatUtc } from '../../shared/design/time.ts'
import { ListBody } from '../../shared/lists/list-view.tsx'
import { CreateKeyForm } from './create-form.tsx'
import { keysFinding, keyState, keyTones, scopesText, type KeyState } from './messages.ts'
import type { ApiKey, ApiKeys } from '../wire.ts'

type NewKey = { readonly text: string; readonly note: string }

const curlCommands = (origin: string): string => `curl -s ${origin}/api/agents/keys/rotate \\
  -H "Authorization: Bearer $POHF_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"overlapSeconds":3600}'`

type KeyActionsProps = {
  readonly api: Api
  readonly apiKey: ApiKey
  readonly action: Action
  readonly onNewKey: (key: NewKey) => void
}

const KeyActions = ({
  api,
  apiKey,
  action,
  onNewKey,
  state,
}: KeyActionsProps & { readonly state: KeyState }) => {
  const isOwn = api.keyHint === apiKey.hint
  const rotate = async () => {
    const made = await api.call<{ apiKey: string; validUntil: string }>('POST', '/api/agents/keys/rotate', {
      keyId: apiKey.keyId,
    })
    onNewKey({ text: made.apiKey, note: `The old key works until ${formatUtc(made.validUntil)}.` })
  }
  return (
    <div class="acts">
      {state === 'active' ? (
        <ConfirmButton
          label="Rotate"
          confirmLabel="Rotate: the old key works for an hour"
          disabled={action.busy}
          onConfirm={() => void action.run('A new key was created.', rotate)}
        />
      ) : null}
      <ConfirmButton
        label="Revoke"
        confirmLabel={isOwn ? 'Revoke it and sign out' : 'Revoke it for ever'}
        disabled={action.busy}
        isDangerous
        onConfirm={() =>
          void action.run(`The key …${apiKey.hint} is revoked.`, () =>
            api.call('POST', '/api/agents/keys/revoke', { keyId: apiKey.keyId }),
          )
        }
      />
    </div>
  )
}

const KeyRow = (props: KeyActionsProps & { readonly now: number }) => {
  const { api, apiKey, now } = props
  const state = keyState(apiKey, now)
  return (
    <tr>
      <th scope="row">
        <code>…{apiKey.hint}</code>
        {api.keyHint === apiKey.hint ? <span class="small muted"> in use here</span> : null}
        <br />
        <CopyId value={apiKey.keyId} label="key id" />
      </th>
      <td>
        <span class={`chip ${keyTones[state]}`}>{state}</span>
        {state === 'expiring' && apiKey.expiresAt !== null ? (
          <span class="small muted block">until {formatUtc(apiKey.expiresAt)}</span>
        ) : null}
      </td>
      <td class="wide-only">{scopesText(apiKey.scopes)}</td>
      <td class="wide-only">
        <Moment at={apiKey.createdAt} now={now} />
      </td>
      <td data-label="Last used">
        {apiKey.lastUsedAt === null ? 'never' : <Moment at={apiKey.lastUsedAt} now={now} />}
      </td>
      <td>{state === 'active' || state === 'expiring' ? <KeyActions {...props} state={state} /> : null}</td>
    </tr>
  )
}

const KeyTable = (props: Omit<KeyActionsProps, 'apiKey'> & { readonly keys: readonly ApiKey[] }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Keys">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">State</th>
            <th scope="col" class="wide-only">
              Scopes
            </th>
            <th scope="col" class="wide-only">
              Since, UTC
            </th>
            <th scope="col">Last used, UTC</th>
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {props.keys.map((apiKey) => (
            <KeyRow key={apiKey.keyId} {...props} apiKey={apiKey} now={now} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Page "Keys": the API keys of programs. */
export const KeysPage = ({ api }: { api: Api }) => {
  const loaded = useQuery(() => api.call<ApiKeys>('GET', '/api/agents/keys'), 'keys')
  const [newKey, setNewKey] = useState<NewKey>()
  const action = useAction(loaded.refetch)
  const keys = loaded.value?.keys
  const create = (scopes: readonly Scope[]) =>
    void action.run('A new key was created.', async () => {
      const made = await api.call<{ apiKey: string }>('POST', '/api/agents/keys', { scopes })
      setNewKey({ text: made.apiKey, note: `Its scopes: ${scopes.join(', ')}.` })
    })
  return (
    <>
      <PageHead name="Keys" finding={keys ? keysFinding(keys, Date.now()) : undefined}>
        Programs call the API with a key. The service stores only hashes, so it cannot show a key again.
      </PageHead>
      <ActionResult message={newKey ? '' : action.message} error={action.error} />
      {newKey ? (
        <SecretNote secret={newKey.text} label="API key" onDone={() => setNewKey(undefined)}>
          {newKey.note}
        </SecretNote>
      ) : null}
      <ListBody loaded={loaded} count={keys?.length} empty={null}>
        <KeyTable api={api} keys={keys ?? []} action={action} onNewKey={setNewKey} />
      </ListBody>
      {keys ? (
        <div class="two">
          <CreateKeyForm busy={action.busy} onCreate={create} />
          <section class="card pad" aria-labelledby="rotate-command">
            <h2 class="h3" id="rotate-command">
              Rotate from a program
            </h2>
            <p class="muted gap">
              A program replaces its own key, stores the new one, and has an hour to change over:
            </p>
            <Commands text={curlCommands(location.origin)} label="Command that rotates a key" />
          </section>
        </div>
      ) : null}
    </>
  )
}
