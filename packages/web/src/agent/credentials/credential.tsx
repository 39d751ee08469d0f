import type { Claims, Result } from '@pohf/verify'
import { useEffect, useState } from 'preact/hooks'
import { CopyId } from '../../shared/design/copy-id.tsx'
import { useDigest } from '../../shared/design/digest.ts'
import { Seal } from '../../shared/design/seal.tsx'
import { verifyInBrowser } from '../../shared/credential/check.ts'
import { CheckList } from '../../shared/credential/check-list.tsx'
import { claimFacts, outcomeOf, summarizeChecks } from '../../shared/credential/outcome.ts'
import { Skeleton } from '../../shared/design/components.tsx'

type CheckedCredential = { readonly result: Result; readonly nowSeconds: number }

const ClaimList = ({ claims, jwt }: { claims: Claims; jwt: string }) => (
  <dl class="facts">
    {claimFacts(claims).map(([label, value, form]) => (
      <div key={label}>
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
export const Credential = ({ jwt, issuer }: { jwt: string; issuer: string }) => {
  const [checked, setChecked] = useState<CheckedCredential>()
  const [failed, setFailed] = useState<string>()
  useEffect(() => {
    // Browsers offer cryptography only to pages from https or from this machine.
    if (!isSecureContext)
      return setFailed('Browsers can check signatures only on pages that were loaded over https.')
    verifyInBrowser(jwt, issuer).then(
      (result) => setChecked({ result, nowSeconds: Math.floor(Date.now() / 1_000) }),
      (error: unknown) => setFailed(error instanceof Error ? error.message : String(error)),
    )
  }, [jwt, issuer])
  const outcome = checked
    ? outcomeOf(checked.result, { jwt, issuer, nowSeconds: checked.nowSeconds })
    : undefined
  const claims = outcome?.claims
  const bytes = useDigest(claims?.jti)
  if (failed !== undefined) return <p class="note stop">The check itself failed: {failed}</p>
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
          <p class="small muted">{outcome.lead}</p>
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
