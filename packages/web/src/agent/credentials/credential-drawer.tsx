import type { Api } from '../../shared/api/client.ts'
import { useQuery } from '../../shared/api/use-query.ts'
import { AssuranceChip } from '../../shared/design/assurance.tsx'
import { Commands, ErrorNote, Skeleton } from '../../shared/design/components.tsx'
import { Drawer } from '../../shared/design/drawer.tsx'
import { Moment } from '../../shared/design/moment.tsx'
import { useProfile } from '../profile.ts'
import { lazy } from '../../shared/shell/lazy.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import type { CredentialDetails } from '../wire.ts'
import { credentialStatusText, credentialStatusTones } from './messages.ts'
import { RevokeRequest } from './revoke-request.tsx'

// Large, so it is loaded when a credential is opened.
const Credential = lazy(async () => (await import('./credential.tsx')).Credential)

const readCommands = (
  origin: string,
  credentialId: string,
): string => `curl -s ${origin}/api/agents/credentials/${credentialId} \\
  -H "Authorization: Bearer $POHF_KEY"`

const evidenceOf = ({ claims }: CredentialDetails): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(claims['evidence']) ? (claims['evidence'] as Record<string, unknown>[]) : []

const Evidence = ({ details }: { details: CredentialDetails }) => {
  const evidence = evidenceOf(details)
  return (
    <section aria-labelledby="evidence">
      <h3 id="evidence">Evidence</h3>
      {details.sessionId === null ? null : (
        <p>
          <a href={hrefOf(['sessions', details.sessionId])}>The session behind it</a>
          <span class="muted">: its score, part by part, and its recording</span>
        </p>
      )}
      {evidence.length === 0 ? (
        <p class="muted">The token names no piece of evidence.</p>
      ) : (
        <ul class="plainlist stack">
          {evidence.map((piece) => (
            <li key={String(piece['hash'])}>
              <b>{String(piece['type'])}</b>
              <code class="block small address">{String(piece['hash'])}</code>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

const Changes = ({ details, now }: { details: CredentialDetails; now: number }) => (
  <section aria-labelledby="changes">
    <h3 id="changes">History</h3>
    <ul class="plainlist stack">
      {details.changes.map(({ state, at }) => (
        <li key={`${state} ${at}`}>
          <b>{state}</b> <Moment at={at} now={now} />
        </li>
      ))}
    </ul>
  </section>
)

type DetailsProps = {
  readonly details: CredentialDetails
  readonly issuer: string
  readonly agentName: string | undefined
}
const Details = ({ details, issuer, agentName }: DetailsProps) => (
  <>
    <p class="muted">
      <AssuranceChip assurance={details.assurance} /> {credentialStatusText(details)}
    </p>
    <section aria-label="Verification">
      <Credential jwt={details.pohf_jwt} issuer={issuer} agentName={agentName} />
    </section>
    <Evidence details={details} />
    <Changes details={details} now={Date.now()} />
    <section aria-labelledby="read-command">
      <h3 id="read-command">Read it again</h3>
      <Commands
        text={readCommands(location.origin, details.credentialId)}
        label="Command that reads the credential"
      />
      {details.status === 'revoked' ? null : <RevokeRequest details={details} />}
    </section>
  </>
)

/** One credential: checked in the browser, with its evidence and its history. */
export const CredentialDrawer = (props: {
  api: Api
  issuer: string
  credentialId: string
  onClose: () => void
}) => {
  const { api, issuer, credentialId } = props
  const address = `/api/agents/credentials/${encodeURIComponent(credentialId)}`
  const loaded = useQuery(() => api.call<CredentialDetails>('GET', address), address, 15_000)
  const details = loaded.value
  const profile = useProfile(api)
  return (
    <Drawer
      title={
        <>
          {details ? `Credential, ${details.kind}` : 'Credential'}{' '}
          {details ? (
            <span class={`chip ${credentialStatusTones[details.status]}`}>{details.status}</span>
          ) : null}
        </>
      }
      onClose={props.onClose}
    >
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {details === undefined && loaded.slow ? <Skeleton /> : null}
      {details ? <Details details={details} issuer={issuer} agentName={profile.value?.name} /> : null}
    </Drawer>
  )
}
