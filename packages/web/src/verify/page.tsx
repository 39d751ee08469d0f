import type { Result } from '@pohf/verify'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Seal } from '../shared/design/seal.tsx'
import { verifyInBrowser } from '../shared/credential/check.ts'
import { outcomeOf } from '../shared/credential/outcome.ts'
import { ResultView } from './result.tsx'

type Phase =
  | { readonly name: 'empty' }
  | { readonly name: 'checking'; readonly slow: boolean }
  | { readonly name: 'done'; readonly jwt: string; readonly result: Result; readonly nowSeconds: number }
  | { readonly name: 'broken'; readonly message: string }

const Field = (given: {
  jwt: string
  challenge: string
  busy: boolean
  onJwt: (text: string) => void
  onChallenge: (text: string) => void
  onSubmit: () => void
}) => (
  <form
    class="paste"
    onSubmit={(event) => {
      event.preventDefault()
      given.onSubmit()
    }}
  >
    <label for="jwt">Credential</label>
    <textarea
      id="jwt"
      required
      rows={4}
      maxLength={20_000}
      spellcheck={false}
      autocomplete="off"
      autocapitalize="off"
      placeholder="eyJhbGciOiJFUzI1NiIs…"
      value={given.jwt}
      onInput={(event) => given.onJwt(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
          event.currentTarget.form?.requestSubmit()
      }}
    />
    <label for="challenge">
      Your challenge <span class="faint">if you gave one out</span>
    </label>
    <input
      id="challenge"
      maxLength={128}
      autocomplete="off"
      value={given.challenge}
      onInput={(event) => given.onChallenge(event.currentTarget.value)}
    />
    <p>
      <button class="btn main" type="submit" disabled={given.busy}>
        Check this credential
      </button>
    </p>
  </form>
)

const commandsFor = (issuer: string): string => `KEY=$(curl -s ${issuer}/api/agents/register \\
  --json '{"name":"me","mode":"test",
    "contactEmail":"me@example.com"}' \\
  | grep -o 'svc_test_[^"]*')

curl -s ${issuer}/api/agents/verify \\
  -H "Authorization: Bearer $KEY" \\
  --json '{"sessionId":"ses_test_pass"}' \\
  | grep -o 'eyJ[^"]*'`

const NextStep = ({ issuer }: { issuer: string }) => {
  const [copied, setCopied] = useState(false)
  const text = commandsFor(issuer)
  return (
    <section class="card pad" aria-labelledby="next">
      <h2 class="h3" id="next">
        No credential at hand?
      </h2>
      <p class="muted gap">
        Two commands make a test one, without an account. Paste what the second one prints.
      </p>
      <pre tabIndex={0}>{text}</pre>
      <p class="gap">
        <button
          type="button"
          class="btn"
          onClick={() => void navigator.clipboard?.writeText(text).then(() => setCopied(true))}
        >
          {copied ? 'Copied' : 'Copy the commands'}
        </button>
        <span class="hidden" role="status">
          {copied ? 'The commands are copied' : ''}
        </span>
      </p>
    </section>
  )
}

const Skeleton = () => (
  <section class="card pad hero" aria-hidden="true">
    <div class="emblem bone round" />
    <div class="bones">
      <div class="bone" />
      <div class="bone tall" />
      <div class="bone" />
    </div>
  </section>
)

/** Page /verify: everything happens in the browser; only public keys and a status list are fetched. */
export const VerifyPage = ({ issuer }: { issuer: string }) => {
  const [jwt, setJwt] = useState(() => decodeURIComponent(location.hash.slice(1)))
  const [challenge, setChallenge] = useState('')
  const [phase, setPhase] = useState<Phase>({ name: 'empty' })
  const run = useRef(0)

  const check = async () => {
    const text = jwt.replaceAll(/\s+/g, '')
    if (text === '') return
    run.current += 1
    const mine = run.current
    // Browsers keep their cryptography for pages that came over https, or from this machine.
    if (!isSecureContext) {
      setPhase({ name: 'broken', message: 'Browsers check signatures only on pages that came over https.' })
      return
    }
    setPhase({ name: 'checking', slow: false })
    const timer = setTimeout(() => {
      if (mine === run.current) setPhase({ name: 'checking', slow: true })
    }, 300)
    try {
      const result = await verifyInBrowser(text, issuer, challenge)
      if (mine !== run.current) return
      setPhase({ name: 'done', jwt: text, result, nowSeconds: Math.floor(Date.now() / 1_000) })
    } catch (error) {
      setPhase({ name: 'broken', message: error instanceof Error ? error.message : String(error) })
    } finally {
      clearTimeout(timer)
    }
  }
  // What stands behind the # of an address never leaves the browser either.
  useEffect(() => {
    if (location.hash.length > 1) void check()
  }, [])
  // One object for one answer: a new one would take the reader back to the top.
  const outcome = useMemo(
    () =>
      phase.name === 'done'
        ? outcomeOf(phase.result, { jwt: phase.jwt, issuer, nowSeconds: phase.nowSeconds })
        : undefined,
    [phase, issuer],
  )
  useEffect(() => {
    document.title = `${outcome ? `${outcome.chip} · ` : ''}Verify a credential · PoHF`
  }, [outcome?.chip])

  const field = (
    <Field
      jwt={jwt}
      challenge={challenge}
      busy={phase.name === 'checking'}
      onJwt={setJwt}
      onChallenge={setChallenge}
      onSubmit={() => void check()}
    />
  )
  return (
    <div class="page">
      <header class="masthead">
        <a class="brand" href="/">
          PoHF
        </a>
        <span class="faint">Verify</span>
        <nav class="muted" aria-label="Elsewhere">
          <a href="/.well-known/jwks.json">Keys</a>
          <a href="/openapi.json">API</a>
        </nav>
      </header>
      <main aria-busy={phase.name === 'checking'}>
        <p class="hidden" role="status">
          {phase.name === 'checking' && phase.slow ? 'Fetching the keys of the issuer' : ''}
        </p>
        {phase.name === 'done' && outcome ? (
          <ResultView
            shown={{ outcome, result: phase.result, nowSeconds: phase.nowSeconds, issuer }}
            onRetry={() => void check()}
            another={field}
          />
        ) : (
          <>
            {phase.name === 'checking' && phase.slow ? (
              <Skeleton />
            ) : (
              <section class="card pad hero" aria-labelledby="says">
                <div class="emblem none">
                  <Seal bytes={undefined} state="blank" />
                </div>
                <div>
                  <h1 id="says">
                    {phase.name === 'broken' ? 'The check itself failed.' : 'Was it a person?'}
                  </h1>
                  <p class="muted lead">
                    {phase.name === 'broken'
                      ? `${phase.message} This says nothing about the credential.`
                      : 'Paste a credential and read what it proves and what it does not. It is checked in this page and goes nowhere; only the issuer’s public keys and its list of revocations are fetched.'}
                  </p>
                </div>
              </section>
            )}
            <div class="grid">
              <section class="card pad" aria-label="Credential to check">
                {field}
              </section>
              <NextStep issuer={issuer} />
            </div>
          </>
        )}
      </main>
    </div>
  )
}
