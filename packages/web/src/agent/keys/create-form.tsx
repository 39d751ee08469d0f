import type { Scope } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import { allScopes, scopeTexts } from './messages.ts'

/** The form for a further key. A key cannot create one with a scope that it lacks. */
export const CreateKeyForm = (props: { busy: boolean; onCreate: (scopes: readonly Scope[]) => void }) => {
  const [chosen, setChosen] = useState<readonly Scope[]>(['verify'])
  const toggle = (scope: Scope, isChosen: boolean) =>
    setChosen((now) => allScopes.filter((one) => (one === scope ? isChosen : now.includes(one))))
  return (
    <section class="card pad" aria-labelledby="create-key">
      <h2 class="h3" id="create-key">
        Create a key
      </h2>
      <p class="muted gap">Give each program a key of its own with the scopes that it needs.</p>
      <form
        class="paste"
        onSubmit={(event) => {
          event.preventDefault()
          props.onCreate(chosen)
        }}
      >
        <fieldset class="choices">
          <legend>Scopes</legend>
          {allScopes.map((scope) => (
            <label key={scope} class="choice">
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={(event) => toggle(scope, event.currentTarget.checked)}
              />
              <span>
                <b>{scope}</b> <span class="small muted">{scopeTexts[scope]}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <p>
          <button class="btn main" type="submit" disabled={props.busy || chosen.length === 0}>
            Create a key with {chosen.length === 1 ? '1 scope' : `${chosen.length} scopes`}
          </button>
        </p>
      </form>
    </section>
  )
}
