import { useState } from 'preact/hooks'
import { Commands } from '../../shared/design/components.tsx'
import type { CredentialDetails } from '../wire.ts'
import { revocationRequest } from './messages.ts'

/** An agent cannot revoke: the page writes the request to the operator, who can. */
export const RevokeRequest = ({ details }: { details: CredentialDetails }) => {
  const [reason, setReason] = useState('')
  return (
    <details>
      <summary>Ask for its revocation</summary>
      <div class="paste">
        <p class="muted small">
          Only an operator of the service revokes a credential, because other people rely on it. Send this
          request to the operator.
        </p>
        <label for="revoke-reason">Why</label>
        <input
          id="revoke-reason"
          maxLength={200}
          placeholder="The account behind it was sold"
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
        <Commands text={revocationRequest(details, reason)} label="Request to the operator" />
      </div>
    </details>
  )
}
