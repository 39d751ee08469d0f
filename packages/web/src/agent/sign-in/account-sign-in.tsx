import { useEffect, useState } from 'preact/hooks'
import { callConsole, makeKeyApi, toApiError, type ApiError } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { ErrorNote } from '../../shared/design/components.tsx'
import type { SignInProps } from '../../shared/shell/frame.tsx'
import { KeyForm, NoKeyHelp, type SignInOptions } from '../../shared/shell/sign-in.tsx'
import { parseRoute } from '../../shared/shell/router.ts'
import type { Account } from '../wire.ts'
import { isAccountChanged, openAccountHere } from './account-api.ts'
import { accountOriginOf } from './account-origin.ts'
import { LinkSent, SignInForm, SignUpForm } from './mail-forms.tsx'
import { signInByPasskey } from './passkey.ts'

/** The token of a mailed link. It is behind #, which browsers send to no server, and is removed at once. */
export const takeLinkToken = (): string | undefined => {
  const { path, query } = parseRoute(location.hash)
  const token = path[0] === 'link' ? query.get('token') : null
  if (token === null) return undefined
  history.replaceState(null, '', `${location.pathname}${location.search}#/home`)
  return token
}

/** Signs in with a mailed link, if there is one. */
const consumeLink = async (token: string | undefined): Promise<void> => {
  if (token !== undefined) await callConsole('POST', '/console/link', { token })
}

type ConsoleSignInProps = SignInProps & {
  readonly signIn: SignInOptions
  readonly issuer: string
  /** Of the mailed link that was opened. */
  readonly linkToken: string | undefined
}

type Entry = {
  readonly isReady: boolean
  readonly entryError?: ApiError
  /** What is open in this browser, although the link was refused. */
  readonly openAccount?: Account | undefined
}

const readAccount = () => callConsole<Account>('GET', '/console/account')

/**
 * Uses a mailed link if there is one, and opens the account of a person who is signed in. Only when the page is loaded: after a
 * refusal, the same cookie would be refused again without end.
 */
const useEntry = ({
  onOpen,
  wasOpen,
  linkToken,
}: ConsoleSignInProps): Entry & { readonly enter: () => Promise<void> } => {
  const [entry, setEntry] = useState<Entry>({ isReady: wasOpen })
  const enter = async () => openAccountHere(await readAccount(), onOpen)
  // The account that is open may be another than that of the link, so the person decides whether to enter it.
  const showRefusedLink = async (refused: unknown) => {
    const openAccount = await readAccount().catch(() => undefined)
    setEntry({ isReady: true, entryError: toApiError(refused), openAccount })
  }
  useEffect(() => {
    if (wasOpen) return
    consumeLink(linkToken)
      .then(enter, showRefusedLink)
      .catch((error: unknown) => {
        const refused = toApiError(error)
        setEntry({ isReady: true, ...(refused.code === 'sign_in_required' ? {} : { entryError: refused }) })
      })
  }, [])
  return { ...entry, enter }
}

const PasskeyButton = ({ enter }: { enter: () => Promise<void> }) => {
  const action = useAction(() => undefined)
  return (
    <>
      <p class="gap">
        <button
          type="button"
          class="btn"
          disabled={action.busy}
          onClick={() =>
            void action.run('', async () => {
              await signInByPasskey()
              await enter()
            })
          }
        >
          Use a passkey
        </button>
      </p>
      {action.error ? <ErrorNote error={action.error} /> : null}
    </>
  )
}

const SignInCards = ({ enter, onSent }: { enter: () => Promise<void>; onSent: (email: string) => void }) => (
  <>
    <section class="card pad" aria-labelledby="sign-in">
      <h2 class="h3" id="sign-in">
        Sign in
      </h2>
      <SignInForm onSent={onSent} />
      <PasskeyButton enter={enter} />
    </section>
    <section class="card pad" aria-labelledby="sign-up">
      <h2 class="h3" id="sign-up">
        New here?
      </h2>
      <p class="muted gap">You get a test agent and a live agent. No card is needed.</p>
      <SignUpForm onSent={onSent} />
    </section>
  </>
)

const KeyEntry = ({ signIn, onOpen }: Pick<SignInProps, 'onOpen'> & { readonly signIn: SignInOptions }) => (
  <>
    <p class="muted">{signIn.lead}</p>
    <KeyForm signIn={signIn} onKey={(key) => onOpen((onRefused) => makeKeyApi(key, onRefused))} />
    <NoKeyHelp noKey={signIn.noKey} />
  </>
)

/** The page at another address than that of the service, whose cookies it would not get. */
const ElsewhereSignIn = ({ error, brand, onOpen, signIn, issuer }: ConsoleSignInProps) => (
  <main class="page narrow">
    <p class="brand">{brand}</p>
    <h1>{signIn.heading}</h1>
    {error ? <ErrorNote error={error} /> : null}
    <KeyEntry signIn={signIn} onOpen={onOpen} />
    <p class="muted">
      To sign in with an account, open{' '}
      <a href={`${accountOriginOf(issuer)}/console`}>{accountOriginOf(issuer)}/console</a>.
    </p>
  </main>
)

/** Another account must be opened by the person, not by the page. */
const AccountChanged = ({ error, brand }: { error: ApiError; brand: SignInProps['brand'] }) => (
  <main class="page narrow">
    <p class="brand">{brand}</p>
    <h1>Another account is open</h1>
    <ErrorNote error={error} />
    <p>
      <button type="button" class="btn main" onClick={() => location.reload()}>
        Reload this page
      </button>
    </p>
  </main>
)

const AccountSignInHere = (props: ConsoleSignInProps) => {
  const { error, brand, onOpen, signIn } = props
  const { isReady, entryError, openAccount, enter } = useEntry(props)
  const [sentTo, setSentTo] = useState<string>()
  if (!isReady)
    return (
      // As console.html shows it before the script has loaded.
      <main class="page narrow" aria-busy="true">
        <p class="brand">{brand}</p>
      </main>
    )
  const shownError = entryError ?? error
  return (
    <main class="page narrow">
      <p class="brand">{brand}</p>
      <h1>The console</h1>
      <p class="muted">Credentials, sessions, orders and keys of your agents, for you and your colleagues.</p>
      {shownError ? <ErrorNote error={shownError} /> : null}
      {openAccount ? (
        <p>
          <button type="button" class="btn" onClick={() => openAccountHere(openAccount, onOpen)}>
            Continue as {openAccount.person.email}
          </button>
        </p>
      ) : null}
      {sentTo === undefined ? (
        <SignInCards enter={enter} onSent={setSentTo} />
      ) : (
        <LinkSent email={sentTo} onAgain={() => setSentTo(undefined)} />
      )}
      <details>
        <summary>Sign in with an API key</summary>
        <KeyEntry signIn={signIn} onOpen={onOpen} />
      </details>
    </main>
  )
}

/** The sign-in of the console: by mail link, by passkey, or with an API key. */
export const AccountSignIn = (props: ConsoleSignInProps) => {
  const { error, brand, issuer } = props
  if (error && isAccountChanged(error)) return <AccountChanged error={error} brand={brand} />
  return location.origin === accountOriginOf(issuer) ? (
    <AccountSignInHere {...props} />
  ) : (
    <ElsewhereSignIn {...props} />
  )
}
