import type { ComponentChildren } from 'preact'
import type { Api } from '../../shared/api/client.ts'
import { hrefOf } from '../../shared/shell/router.ts'

export const parts = [
  { path: '', name: 'Requests' },
  { path: 'report', name: 'Report' },
  { path: 'types', name: 'Action types' },
  { path: 'people', name: 'Approvers' },
  { path: 'known-bad', name: 'Known-bad requests' },
  { path: 'settings', name: 'Settings' },
] as const

/** The parts of the page. */
export const PartLinks = ({ current }: { current: string }) => (
  <nav class="parts" aria-label="Approvals">
    <ul>
      {parts.map(({ path, name }) => (
        <li key={path}>
          <a
            href={hrefOf(path === '' ? ['approvals'] : ['approvals', path])}
            {...(path === current ? { 'aria-current': 'page' as const } : {})}
          >
            {name}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

/** Why this sign-in cannot administer approvals; undefined where it can. */
const missingFor = ({ account }: Api): string | undefined => {
  if (!account)
    return 'You are signed in with an API key. No key can do this, whatever its scopes: otherwise an agent could choose who approves its actions. Sign out, and sign in with the mail address of an owner.'
  return account.role === 'owner'
    ? undefined
    : `Only an owner of the account can do this, and you are ${account.role}. Ask an owner to do it, or to make you one on the page People.`
}

/** What an owner does; for everybody else, what is needed. In live mode the service also asks for a sign-in with a passkey. */
export const OwnerOnly = (props: { api: Api; what: string; children: ComponentChildren }) => {
  const missing = missingFor(props.api)
  if (missing === undefined) return <>{props.children}</>
  return (
    <section class="card pad" aria-labelledby="owner-only">
      <h2 class="h3" id="owner-only">
        {props.what}: for owners
      </h2>
      <p class="muted gap">{missing}</p>
    </section>
  )
}

export const isOwner = ({ account }: Api): boolean => account?.role === 'owner'

/** A word in front of the forms of owners. */
export const OwnerHint = ({ api }: { api: Api }) => (
  <p class="small muted gap">
    {api.mode === 'live'
      ? 'In live mode this needs a sign-in with a passkey within the last hour.'
      : 'This needs a sign-in within the last hour.'}
  </p>
)

/** A field of a form with its label and a hint. */
export const Field = (props: {
  id: string
  label: string
  hint?: string
  fault?: string
  children: ComponentChildren
}) => (
  <>
    <label for={props.id}>
      {props.label} {props.hint === undefined ? null : <span class="faint">{props.hint}</span>}
    </label>
    {props.children}
    {props.fault === undefined || props.fault === '' ? null : (
      <p class="note stop" role="alert">
        {props.fault}
      </p>
    )}
  </>
)

/** People to choose from. */
export const PeopleChoice = (props: {
  legend: string
  people: readonly { readonly approver: string; readonly name: string }[]
  chosen: readonly string[]
  onChange: (chosen: readonly string[]) => void
}) => (
  <fieldset class="choices">
    <legend>{props.legend}</legend>
    {props.people.map(({ approver, name }) => (
      <label key={approver} class="choice">
        <input
          type="checkbox"
          checked={props.chosen.includes(approver)}
          onChange={(event) =>
            props.onChange(
              event.currentTarget.checked
                ? [...props.chosen, approver]
                : props.chosen.filter((one) => one !== approver),
            )
          }
        />
        <span class="address">
          <b>{name}</b> <span class="small muted">{approver}</span>
        </span>
      </label>
    ))}
  </fieldset>
)
