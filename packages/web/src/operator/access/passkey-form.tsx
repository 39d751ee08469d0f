import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { addPasskey } from '../sign-in/passkey.ts'

/** Adds a passkey of this device under a name. */
export const PasskeyForm = ({ api, action, onAdded }: { api: Api; action: Action; onAdded?: () => void }) => {
  const [name, setName] = useState('')
  const add = async (event: Event) => {
    event.preventDefault()
    if (!(await action.run('The passkey was added.', () => addPasskey(api, name.trim())))) return
    setName('')
    onAdded?.()
  }
  return (
    <form class="paste" onSubmit={(event) => void add(event)}>
      <label for="passkey-name">
        Name <span class="faint">to tell your devices apart</span>
      </label>
      <input
        id="passkey-name"
        required
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
