import type { Claims, ForgingTableResult, Result } from '@pohf/verify'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { statementOf, type ReaderList } from '@pohf/protocol/statements'
import { german } from '@pohf/protocol/statements-de'
import { CopyButton } from '../shared/design/copy-button.tsx'
import { Seal } from '../shared/design/seal.tsx'
import { priceIn, readTableInBrowser, verifyInBrowser } from '../shared/credential/check.ts'
import { outcomeOf } from '../shared/credential/outcome.ts'
import { ListCard, useReaderList } from './list-card.tsx'
import { ResultView } from './result.tsx'

type Phase =
  | { readonly name: 'empty' }
  | { readonly name: 'checking'; readonly slow: boolean }
  | {
      readonly name: 'done'
      readonly jwt: string
      readonly result: Result
      /** Read for a valid live credential; others have no price. */
      readonly table: ForgingTableResult | undefined
      readonly nowSeconds: number
    }
  | { readonly name: 'broken'; readonly message: string }

const Field = (props: {
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
      props.onSubmit()
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
      value={props.jwt}
      onInput={(event) => props.onJwt(event.currentTarget.value)}
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
      value={props.challenge}
      onInput={(event) => props.onChallenge(event.currentTarget.value)}
    />
    <p>
      <button class="btn main" type="submit" disabled={props.busy}>
        Check this credential
      </button>
    </p>
  </form>
)

const commandsFor = (issuer: string): string => `KEY=$(curl -s ${issuer}/api/agents/register \\
  -H 'Content-Type: application/json' \\
  -d '{"name":"me","mode":"test",
    "contactEmail":"me@example.com"}' \\
  | grep -o 'svc_test_[^"]*')

curl -s ${issuer}/api/agents/verify \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"sessionId":"ses_test_pass"}' \\
  | grep -o 'eyJ[^"]*'`

const NextStep = ({ issuer }: { issuer: string }) => {
  const text = commandsFor(issuer)
  return (
    <section class="card pad" aria-labelledby="next">
      <h2 class="h3" id="next">
        No credential at hand?
      </h2>
      <p class="muted gap">
        These commands create a test credential. Paste the text that the second command prints.
      </p>
      <pre tabIndex={0}>{text}</pre>
      <p class="gap">
        <CopyButton text={text} label="the commands" />
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

const Introduction = ({ failure }: { failure: string | undefined }) => (
  <section class="card pad hero" aria-labelledby="says">
    <div class="emblem none">
      <Seal bytes={undefined} state="blank" />
    </div>
    <div>
      <h1 id="says">{failure === undefined ? 'What does it prove?' : 'The check itself failed.'}</h1>
      <p class="muted lead">
        {failure === undefined
          ? 'Paste a credential and read what it proves and what it does not. It is checked in this page and is not sent anywhere; the page fetches only the public keys, the status list and the price table of the issuer.'
          : `${failure} This says nothing about the credential.`}
      </p>
    </div>
  </section>
)

/** A test credential has no price, and no market has one for a decision of a named person. */
const isPriced = ({ test, kind }: Claims): boolean => !test && kind !== 'approval'

/** Checks a credential; of several checks only the last one reports. */
const useCheck = (issuer: string) => {
  const [phase, setPhase] = useState<Phase>({ name: 'empty' })
  const run = useRef(0)
  const check = async (text: string, challenge: string) => {
    const jwt = text.replaceAll(/\s+/g, '')
    if (jwt === '') return
    run.current += 1
    const mine = run.current
    // Browsers offer cryptography only to pages from https or from this machine.
    if (!isSecureContext) {
      setPhase({
        name: 'broken',
        message: 'Browsers can check signatures only on pages that were loaded over https.',
      })
      return
    }
    setPhase({ name: 'checking', slow: false })
    const timer = setTimeout(() => {
      if (mine === run.current) setPhase({ name: 'checking', slow: true })
    }, 300)
    try {
      const result = await verifyInBrowser(jwt, issuer, challenge)
      const table = result.ok && isPriced(result.claims) ? await readTableInBrowser(issuer) : undefined
      if (mine !== run.current) return
      setPhase({ name: 'done', jwt, result, table, nowSeconds: Math.floor(Date.now() / 1_000) })
    } catch (error) {
      if (mine !== run.current) return
      setPhase({ name: 'broken', message: error instanceof Error ? error.message : String(error) })
    } finally {
      clearTimeout(timer)
    }
  }
  return { phase, check }
}

const useOutcome = (phase: Phase, issuer: string, list: ReaderList) => {
  const outcome = useMemo(
    () =>
      phase.name === 'done'
        ? outcomeOf(phase.result, { jwt: phase.jwt, issuer, nowSeconds: phase.nowSeconds, known: { list } })
        : undefined,
    [phase, issuer, list],
  )
  useEffect(() => {
    document.title = `${outcome ? `${outcome.chip} · ` : ''}Verify a credential · PoHF`
  }, [outcome?.chip])
  return outcome
}

/** The credential in the fragment of the address, which never leaves the browser. */
const readFragment = (): string => {
  const fragment = location.hash.slice(1)
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/** Hands over the credential of the address, at first and whenever the address gets another. */
const useFragment = (onCredential: (jwt: string) => void) => {
  useEffect(() => {
    const open = () => {
      const jwt = readFragment()
      if (jwt !== '') onCredential(jwt)
    }
    open()
    addEventListener('hashchange', open)
    return () => removeEventListener('hashchange', open)
  }, [])
}

/**
 * Page /verify below its header, which is in verify.html: everything happens in the browser; only public keys, a status list
 * and the price table are fetched.
 */
export const VerifyPage = ({ issuer }: { issuer: string }) => {
  const [jwt, setJwt] = useState('')
  const [challenge, setChallenge] = useState('')
  const { phase, check } = useCheck(issuer)
  const readerList = useReaderList()
  const { list } = readerList
  const outcome = useOutcome(phase, issuer, list)
  const submit = () => void check(jwt, challenge)
  useFragment((text) => {
    setJwt(text)
    // A challenge belongs to one credential.
    setChallenge('')
    void check(text, '')
  })
  const isSlow = phase.name === 'checking' && phase.slow
  const field = (
    <Field
      jwt={jwt}
      challenge={challenge}
      busy={phase.name === 'checking'}
      onJwt={setJwt}
      onChallenge={setChallenge}
      onSubmit={submit}
    />
  )
  return (
    <main aria-busy={phase.name === 'checking'}>
      <p class="hidden" role="status">
        {isSlow ? 'Fetching the keys of the issuer' : ''}
      </p>
      {phase.name === 'done' && outcome ? (
        <ResultView
          shown={{
            outcome,
            result: phase.result,
            price:
              phase.table && phase.result.ok ? priceIn(phase.table, phase.result.claims, list) : undefined,
            german:
              outcome.statement && outcome.claims
                ? statementOf(outcome.claims, { texts: german, list })
                : undefined,
            nowSeconds: phase.nowSeconds,
            issuer,
          }}
          onRetry={submit}
          another={field}
          list={<ListCard {...readerList} />}
        />
      ) : (
        <>
          {isSlow ? (
            <Skeleton />
          ) : (
            <Introduction failure={phase.name === 'broken' ? phase.message : undefined} />
          )}
          <div class="grid">
            <section class="card pad" aria-label="Credential to check">
              {field}
            </section>
            <NextStep issuer={issuer} />
            <ListCard {...readerList} />
          </div>
        </>
      )}
    </main>
  )
}
