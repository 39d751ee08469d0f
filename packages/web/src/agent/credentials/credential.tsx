import type { Claims, Result } from '@pohf/verify'
import { sentencesOf } from '@pohf/protocol/statements'
import { useQuery } from '../../shared/api/use-query.ts'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { useDigest } from '../../shared/design/digest.ts'
import { Seal } from '../../shared/design/seal.tsx'
import { verifyInBrowser } from '../../shared/credential/check.ts'
import { CheckList } from '../../shared/credential/check-list.tsx'
import { claimFacts, outcomeOf, summarizeChecks } from '../../shared/credential/outcome.ts'
import { ErrorNote, Skeleton } from '../../shared/design/components.tsx'

const check = async (jwt: string, issuer: string): Promise<Result> => {
  // Browsers offer cryptography only to pages from https or from this machine.
  if (!isSecureContext)
    throw new Error('Browsers can check signatures only on pages that were loaded over https.')
  return verifyInBrowser(jwt, issuer)
}

const ClaimList = ({ claims, jwt }: { claims: Claims; jwt: string }) => (
  <dl class="facts">
    {claimFacts(claims).map(([label, value, form]) => (
      <div key={`${label} ${value}`}>
        <dt>{label}</dt>
        <dd class="num">{form === 'id' ? <CopyId value={value} label={label} /> : value}</dd>
      </div>
    ))}
    <div>
      <dt>The credential itself</dt>
      <dd>
        <CopyId value={jwt} label="credential" />
      </dd>
    </div>
  </dl>
)

/** A credential that is checked where it is shown: the signature, the dates and the status, by the public keys. */
export const Credential = (props: {
  readonly jwt: string
  readonly issuer: string
  readonly agentName: string | undefined
}) => {
  const { jwt, issuer, agentName } = props
  // Again while it is open: its status may change.
  const {
    value: checked,
    error,
    refetch,
  } = useQuery(
    async () => ({ result: await check(jwt, issuer), nowSeconds: Math.floor(Date.now() / 1_000) }),
    `${issuer} ${jwt}`,
    15_000,
  )
  const outcome = checked
    ? outcomeOf(checked.result, { jwt, issuer, nowSeconds: checked.nowSeconds, known: { agentName } })
    : undefined
  const claims = outcome?.claims
  const bytes = useDigest(claims?.jti)
  if (error)
    return (
      <ErrorNote
        error={{ ...error, message: error.message.replace('This page failed', 'The check itself failed') }}
        onRetry={refetch}
      />
    )
  if (!checked || !outcome) return <Skeleton />
  return (
    <>
      <div class="proof">
        <div class={`emblem ${outcome.tone}`}>
          <Seal bytes={bytes} state={outcome.seal} />
        </div>
        <div>
          <p>
            <span class={`chip ${outcome.tone}`}>{outcome.chip}</span>
          </p>
          <p>
            <b>{outcome.headline}</b>
          </p>
          <p class="small muted">
            {[outcome.lead, ...(outcome.statement ? sentencesOf(outcome.statement).slice(1) : [])].join(' ')}
          </p>
        </div>
      </div>
      <CheckList lines={summarizeChecks(checked.result.checks, claims, checked.nowSeconds)} />
      {claims ? <ClaimList claims={claims} jwt={jwt} /> : null}
      <p class="small gap">
        <a href={`/verify#${jwt}`} target="_blank" rel="noopener">
          What it does not prove
        </a>
      </p>
      {claims ? (
        <details>
          <summary>All claims, as signed</summary>
          <pre tabIndex={0} aria-label="Claims">
            {JSON.stringify(claims, null, 2)}
          </pre>
        </details>
      ) : null}
    </>
  )
}
