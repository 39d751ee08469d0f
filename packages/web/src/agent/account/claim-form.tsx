import { useState } from 'preact/hooks'
import { callConsole } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { ConfirmButton } from '../../shared/design/components.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { formatUtc } from '../../shared/design/time.ts'
import type { Account } from '../wire.ts'
import { claimButton, claimEffect, countText } from './messages.ts'

type Claimable = Account['claimable'][number]

const KeyTable = ({ keys, now }: { keys: Claimable['keys']; now: number }) => (
  <table class="stacked">
    <thead>
      <tr>
        <th scope="col">Key</th>
        <th scope="col">Since, UTC</th>
        <th scope="col">Last used, UTC</th>
      </tr>
    </thead>
    <tbody>
      {keys.map((key) => (
        <tr key={`${key.hint} ${key.createdAt}`}>
          <th scope="row">
            <code>…{key.hint}</code>
            {key.expiresAt === null ? null : (
              <span class="small muted block">works until {formatUtc(key.expiresAt)}</span>
            )}
          </th>
          <td data-label="Since">
            <Moment at={key.createdAt} now={now} />
          </td>
          <td data-label="Last used">
            {key.lastUsedAt === null ? 'never' : <Moment at={key.lastUsedAt} now={now} />}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

/** Takes an agent that was registered by API into the account. What its earlier holder has of it is listed first. */
export const ClaimForm = (props: { agent: Claimable; action: Action; now: number }) => {
  const { agent, action, now } = props
  const [revokes, setRevokes] = useState(true)
  const { keys, webhookHosts, allowedOrigins } = agent
  const hosts = [...new Set(webhookHosts)]
  const claim = () =>
    void action.run('It belongs to this account now.', async () => {
      await callConsole('POST', '/console/claim', { agentId: agent.id, keepKeys: !revokes })
      // The page Keys shows what was revoked, and makes a new key.
      history.replaceState(null, '', `?mode=${agent.mode}#/keys`)
      location.reload()
    })
  return (
    <div class="paste gap">
      <h3 class="h3">
        {agent.name} <span class="chip">{agent.mode}</span>
      </h3>
      <p class="small muted">
        It was registered by API with your address on {formatUtc(agent.createdAt)}. Anybody can do that.
        Whoever did it holds {countText(keys.length, 'key')} and {countText(webhookHosts.length, 'webhook')}.
      </p>
      {keys.length === 0 ? null : <KeyTable keys={keys} now={now} />}
      {hosts.length === 0 ? null : (
        <p class="small">
          Its events are sent to <span class="address">{hosts.join(', ')}</span>.
        </p>
      )}
      <label class="choice">
        <input
          type="checkbox"
          checked={revokes}
          onChange={(event) => setRevokes(event.currentTarget.checked)}
        />
        <span>
          <b>Revoke the keys that exist (recommended)</b>{' '}
          <span class="small muted">{claimEffect(agent, revokes)}</span>
        </span>
      </label>
      <p class="small muted">
        Its name, settings, members, orders and sites stay
        {allowedOrigins.length === 0 ? '' : `: ${allowedOrigins.join(', ')}`}. Check{' '}
        <a href="#/install">Install</a>, <a href="#/members">Members</a> and <a href="#/orders">Orders</a>{' '}
        afterwards, and remove what you do not know.
      </p>
      <p class="gap">
        <ConfirmButton
          label="Take it into this account"
          confirmLabel={claimButton(agent, revokes)}
          disabled={action.busy}
          isDangerous={revokes && keys.length > 0}
          onConfirm={claim}
        />
      </p>
    </div>
  )
}
