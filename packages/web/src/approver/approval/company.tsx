import { useState } from 'preact/hooks'
import { fillPlaceholders } from '../../shared/design/fill-placeholders.ts'
import { toApiError, type ApiError } from '../../shared/person/api.ts'
import { signInWithCompany } from '../../shared/person/company.ts'
import { Title } from '../../shared/person/parts.tsx'
import type { PageContext } from '../messages.ts'
import type { Approval } from '../wire.ts'
import { Failure } from './failure.tsx'

type Company = NonNullable<Approval['company']>

const hostOf = (issuerId: string): string => (URL.canParse(issuerId) ? new URL(issuerId).host : issuerId)

/** In place of a request: who was invited by the sign-in of a company decides only while the company vouches for them. */
export const CompanySignIn = ({ page, company }: { page: PageContext; company: Company }) => {
  const { messages } = page
  const texts = messages.company
  const [isBusy, setBusy] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const values = { issuer: hostOf(company.issuerId), hours: Math.round(company.lifeHours) }
  const begin = async () => {
    setBusy(true)
    setFailed(undefined)
    try {
      await signInWithCompany(company.issuer, company.memberId, `${location.pathname}${location.search}`)
    } catch (error) {
      setFailed(toApiError(error))
      setBusy(false)
    }
  }
  return (
    <article>
      <Title text={texts.title} />
      {company.state === 'withdrawn' ? (
        <p class="note stop" role="alert">
          {fillPlaceholders(texts.withdrawn, values)}
        </p>
      ) : null}
      <p>{fillPlaceholders(texts.lead, values)}</p>
      <ul class="plain">
        {texts.facts.map((text) => (
          <li key={text}>{fillPlaceholders(text, values)}</li>
        ))}
      </ul>
      {failed ? <Failure messages={messages} failed={failed} isKept={false} /> : null}
      <p>
        <button type="button" class="btn main" disabled={isBusy} onClick={() => void begin()}>
          {fillPlaceholders(texts.button, values)}
        </button>
      </p>
    </article>
  )
}
