import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { Field, OwnerHint } from '../approvals/parts.tsx'

const empty = { name: '', domain: '', issuer: '', clientId: '', clientSecret: '' }
type Values = typeof empty

const fields: readonly {
  readonly key: keyof Values
  readonly label: string
  readonly hint: string
  readonly placeholder: string
  readonly max: number
}[] = [
  { key: 'name', label: 'Name of the company', hint: 'for you', placeholder: 'Nordwind', max: 80 },
  {
    key: 'domain',
    label: 'Domain',
    hint: 'where you can publish a record',
    placeholder: 'nordwind.example',
    max: 237,
  },
  {
    key: 'issuer',
    label: 'Address of the issuer',
    hint: 'at the domain or below it, letter by letter as its metadata say',
    placeholder: 'https://login.nordwind.example',
    max: 256,
  },
  { key: 'clientId', label: 'Client id', hint: 'of a web application', placeholder: '', max: 256 },
]

/** Sets up a company. Its record and its redirect address are shown after that. */
export const CompanyForm = ({ api, action }: { api: Api; action: Action }) => {
  const [values, setValues] = useState(empty)
  const write = (key: keyof Values, value: string) => setValues({ ...values, [key]: value })
  const submit = async (event: Event) => {
    event.preventDefault()
    const { clientSecret, ...others } = values
    const body = {
      ...Object.fromEntries(Object.entries(others).map(([key, value]) => [key, value.trim()])),
      ...(clientSecret === '' ? {} : { clientSecret }),
    }
    const isDone = await action.run('The sign-in is stored. Publish its record now.', () =>
      api.call('POST', '/api/agents/companies', body),
    )
    if (isDone) setValues(empty)
  }
  return (
    <section class="card pad" aria-labelledby="add-company">
      <h2 class="h3" id="add-company">
        Set up the sign-in of your company
      </h2>
      <OwnerHint api={api} />
      <form class="paste" onSubmit={(event) => void submit(event)}>
        {fields.map(({ key, label, hint, placeholder, max }) => (
          <Field key={key} id={`company-${key}`} label={label} hint={hint}>
            <input
              id={`company-${key}`}
              required
              maxLength={max}
              placeholder={placeholder}
              autocomplete="off"
              spellcheck={false}
              value={values[key]}
              onInput={(event) => write(key, event.currentTarget.value)}
            />
          </Field>
        ))}
        <Field id="company-secret" label="Client secret" hint="stored sealed, and never shown again">
          <input
            id="company-secret"
            type="password"
            maxLength={1_024}
            autocomplete="off"
            value={values.clientSecret}
            onInput={(event) => write('clientSecret', event.currentTarget.value)}
          />
        </Field>
        <p class="small muted">
          Of Microsoft Entra, enter the address with the id of your tenant:{' '}
          <code class="address">https://login.microsoftonline.com/…/v2.0</code>, and a domain of that tenant.
          An address at which many companies sign in, such as that of Google, is refused: a credential could
          not say which company it was.
        </p>
        <p>
          <button class="btn main" type="submit" disabled={action.busy}>
            Store it and show the record
          </button>
        </p>
      </form>
    </section>
  )
}
