import { AssuranceChip } from '../../shared/design/assurance.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { formatUnit } from '../../shared/plots/scale.ts'
import { stepThroughRows } from '../../shared/lists/list-view.tsx'
import type { CredentialRecord } from '../wire.ts'
import { credentialStatusTones } from './messages.ts'

const shortId = (id: string): string => `${id.slice(0, 10)}…${id.slice(-4)}`

type RowProps = { readonly credential: CredentialRecord; readonly href: string; readonly now: number }

const CredentialRow = ({ credential, href, now }: RowProps) => (
  <tr>
    <th scope="row">
      <a class="id" href={href} title={credential.credentialId}>
        {shortId(credential.credentialId)}
      </a>{' '}
      <span class="narrow-only small muted">
        {credential.kind}, {formatUnit(credential.quality)}
      </span>
    </th>
    <td class="wide-only word">{credential.kind}</td>
    <td class="wide-only">
      <span class={`chip ${credentialStatusTones[credential.status]}`}>{credential.status}</span>
    </td>
    <td>
      <AssuranceChip assurance={credential.assurance} />{' '}
      {credential.status === 'active' ? null : (
        <span class={`narrow-only chip ${credentialStatusTones[credential.status]}`}>
          {credential.status}
        </span>
      )}
    </td>
    <td class="num wide-only">{formatUnit(credential.quality)}</td>
    <td class="wide-only">
      <Moment at={credential.issuedAt} now={now} />
    </td>
  </tr>
)

/** Credentials, newest first. */
export const CredentialTable = (props: {
  credentials: readonly CredentialRecord[]
  hrefOfCredential: (credentialId: string) => string
}) => {
  const now = Date.now()
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Credential</th>
          <th scope="col" class="wide-only">
            Kind
          </th>
          <th scope="col" class="wide-only">
            State
          </th>
          <th scope="col">Assurance</th>
          <th scope="col" class="num wide-only">
            Quality
          </th>
          <th scope="col" class="wide-only">
            Issued, UTC
          </th>
        </tr>
      </thead>
      <tbody onKeyDown={stepThroughRows}>
        {props.credentials.map((credential) => (
          <CredentialRow
            key={credential.credentialId}
            credential={credential}
            href={props.hrefOfCredential(credential.credentialId)}
            now={now}
          />
        ))}
      </tbody>
    </table>
  )
}
