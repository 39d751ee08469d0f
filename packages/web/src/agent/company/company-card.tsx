import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import type { Action } from '../../shared/api/use-action.ts'
import { Commands, ConfirmButton } from '../../shared/design/components.tsx'
import { formatUtc } from '../../shared/design/time.ts'
import type { CompanySignIn } from '../wire.ts'
import { companyLabels, faultTexts } from './messages.ts'

type Props = { readonly api: Api; readonly action: Action; readonly company: CompanySignIn }

const pathOf = ({ issuerId }: CompanySignIn): string =>
  `/api/agents/companies/${encodeURIComponent(issuerId)}`

const State = ({ company }: { company: CompanySignIn }) => {
  const { word, tone, text } = companyLabels[company.state]
  return (
    <>
      <p class="gap">
        <span class={`chip ${tone}`}>{word}</span>
      </p>
      <p class="gap">{text}</p>
      {company.fault === null ? null : (
        <p class={company.state === 'waiting' ? 'note' : 'note stop'}>
          {faultTexts[company.fault]}
          {company.missingSince === null || company.seenAt === null
            ? null
            : ` Since ${formatUtc(company.missingSince)}.`}
          {company.stopsAt === null
            ? null
            : ` Without a check that succeeds, the sign-in stops on ${formatUtc(company.stopsAt)}.`}
        </p>
      )}
    </>
  )
}

const Record = ({ company }: { company: CompanySignIn }) => (
  <>
    <h3 class="h3 gap">The record to publish at your DNS provider, of type TXT</h3>
    <p class="small muted gap">Name</p>
    <Commands text={company.record.name} label="name of the record" />
    <p class="small muted gap">Value</p>
    <Commands text={company.record.value} label="value of the record" />
    <h3 class="h3 gap">The redirect address to register at your identity provider, and no other</h3>
    <Commands text={company.redirectUri} label="redirect address" />
  </>
)

const SecretForm = ({ api, action, company }: Props) => {
  const [secret, setSecret] = useState('')
  const id = `secret-${company.issuerId}`
  const submit = async (event: Event) => {
    event.preventDefault()
    const isDone = await action.run('The secret was replaced.', () =>
      api.call('PATCH', pathOf(company), { clientSecret: secret }),
    )
    if (isDone) setSecret('')
  }
  return (
    <details class="gap">
      <summary>Replace the client secret</summary>
      <form class="paste" onSubmit={(event) => void submit(event)}>
        <label for={id}>New client secret</label>
        <input
          id={id}
          type="password"
          required
          maxLength={1_024}
          autocomplete="off"
          value={secret}
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
        <p>
          <button class="btn" type="submit" disabled={action.busy}>
            Replace the secret
          </button>
        </p>
      </form>
    </details>
  )
}

/** One company: its state, what to publish and to register, and what an owner does with it. */
export const CompanyCard = ({ api, action, company }: Props) => (
  <section class="card pad" aria-labelledby={company.issuerId}>
    <h2 class="h3" id={company.issuerId}>
      {company.name}
    </h2>
    <State company={company} />
    <dl class="facts">
      <div>
        <dt>Issuer, as credentials name it</dt>
        <dd>
          <code class="address">{company.issuer}</code>
        </dd>
      </div>
      <div>
        <dt>Domain</dt>
        <dd>{company.domain}</dd>
      </div>
      <div>
        <dt>Client</dt>
        <dd>
          <span class="address">{company.clientId}</span>,{' '}
          {company.hasSecret ? 'with a secret' : 'without a secret'}
        </dd>
      </div>
      <div>
        <dt>Last check that succeeded</dt>
        <dd>{company.seenAt === null ? 'none yet' : formatUtc(company.seenAt)}</dd>
      </div>
    </dl>
    <Record company={company} />
    <p class="gap">
      <button
        type="button"
        class="btn main"
        disabled={action.busy}
        onClick={() =>
          void action.run(`${company.name} is ready.`, () =>
            api.call('POST', `${pathOf(company)}/verify`, {}),
          )
        }
      >
        Check it now<span class="hidden">: {company.name}</span>
      </button>{' '}
      <ConfirmButton
        label="Remove"
        confirmLabel={`Remove ${company.name}: what it vouched for counts no more`}
        disabled={action.busy}
        isDangerous
        onConfirm={() =>
          void action.run(`${company.name} was removed.`, () => api.call('DELETE', pathOf(company)))
        }
      />
    </p>
    <SecretForm api={api} action={action} company={company} />
  </section>
)
