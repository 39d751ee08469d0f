import { useEffect, useState } from 'preact/hooks'
import { makeKeyApi, toApiError, type Api, type ApiError } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { ErrorNote } from '../../shared/design/components.tsx'
import type { SignInProps } from '../../shared/shell/frame.tsx'
import { KeyForm, NoKeyHelp, type SignInOptions } from '../../shared/shell/sign-in.tsx'
import { PasskeyForm } from '../access/passkey-form.tsx'
import { signInByPasskey } from './passkey.ts'
import { openOperatorSession } from './session-api.ts'
import type { PasskeyList } from './wire.ts'

const keyOptions: SignInOptions = {
  heading: 'Sign in as an operator',
  lead: 'The key stays in the memory of this tab: it is not stored, and a reload deletes it. The audit log records everything that you do here under your name.',
  label: 'Operator key',
  placeholder: 'svc_op_…',
  pattern: /^svc_op_[A-Za-z0-9]{10,80}$/,
  invalidKeyMessage: 'An operator key begins with svc_op_. Paste it whole.',
  button: 'Open the operators’ pages',
  noKey: {
    text: 'Create an operator on the machine that runs the service:',
    label: 'Command for an operator key',
    commands: 'npx pohf operator create NAME',
  },
}

type Entry = {
  readonly isReady: boolean
  readonly entryError?: ApiError
  /** The address of this page is not the one for passkeys; the message names that. */
  readonly elsewhere?: string
}

/** Opens the pages of an operator who is signed in, when the page is loaded: after a refusal it would be refused again. */
const useEntry = ({ onOpen, wasOpen }: SignInProps): Entry & { readonly enter: () => Promise<void> } => {
  const [entry, setEntry] = useState<Entry>({ isReady: false })
  const enter = () => openOperatorSession(onOpen)
  useEffect(() => {
    if (wasOpen) return setEntry({ isReady: true })
    enter().catch((error: unknown) => {
      const refused = toApiError(error)
      if (refused.code === 'forbidden') return setEntry({ isReady: true, elsewhere: refused.message })
      const isNobody = refused.code === 'sign_in_required'
      setEntry({ isReady: true, ...(isNobody ? {} : { entryError: refused }) })
    })
  }, [])
  return { ...entry, enter }
}

const PasskeyCard = ({ enter }: { enter: () => Promise<void> }) => {
  const action = useAction(() => undefined)
  const signIn = async () => {
    await signInByPasskey()
    await enter()
  }
  return (
    <section class="card pad" aria-labelledby="passkey">
      <h2 class="h3" id="passkey">
        With a passkey
      </h2>
      <p class="muted gap">
        Your fingerprint, your face or the PIN of your device. A reload keeps you signed in.
      </p>
      <p class="gap">
        <button
          type="button"
          class="btn main"
          disabled={action.busy}
          onClick={() => void action.run('', signIn)}
        >
          Sign in with a passkey
        </button>
      </p>
      {action.error ? <ErrorNote error={action.error} /> : null}
    </section>
  )
}

/** After a sign-in by key: the next one can be by passkey. */
const PasskeyOffer = ({ api, onDone }: { api: Api; onDone: () => void }) => {
  const action = useAction(() => undefined)
  return (
    <section class="card pad" aria-labelledby="offer">
      <h2 class="h3" id="offer">
        Add a passkey?
      </h2>
      <p class="muted gap">
        Then you need no key the next time. The passkey stays on your device and works at this address only.
      </p>
      <PasskeyForm api={api} action={action} onAdded={onDone} />
      {action.error ? <ErrorNote error={action.error} /> : null}
      <p class="gap">
        <button type="button" class="btn" onClick={onDone}>
          Not now
        </button>
      </p>
    </section>
  )
}

const KeyEntry = ({ onKey }: { onKey: (key: string) => void }) => (
  <>
    <p class="muted">{keyOptions.lead}</p>
    <KeyForm signIn={keyOptions} onKey={onKey} />
    <NoKeyHelp noKey={keyOptions.noKey} />
  </>
)

/** Signs in by key, and offers a passkey to an operator without one where passkeys work. */
const useKeyEntry = ({ onOpen }: SignInProps, hasPasskeys: boolean) => {
  const [offered, setOffered] = useState<string>()
  const [keyError, setKeyError] = useState<ApiError>()
  const open = (key: string) => onOpen((onRefused) => makeKeyApi(key, onRefused))
  const onKey = (key: string): void => {
    if (!hasPasskeys) return open(key)
    setKeyError(undefined)
    makeKeyApi(key, () => undefined)
      .call<PasskeyList>('GET', '/operator/sign-in/passkeys')
      .then(
        ({ passkeys }) => (passkeys.length === 0 ? setOffered(key) : open(key)),
        (error: unknown) => setKeyError(toApiError(error)),
      )
  }
  return { offered, keyError, onKey, open }
}

/** The sign-in of operators: with a passkey, or with a key. */
export const OperatorSignIn = (props: SignInProps) => {
  const { isReady, entryError, elsewhere, enter } = useEntry(props)
  const { offered, keyError, onKey, open } = useKeyEntry(props, elsewhere === undefined)
  if (!isReady) return <main class="page narrow" aria-busy="true" />
  const error = keyError ?? entryError ?? props.error
  return (
    <main class="page narrow">
      <p class="brand">{props.brand}</p>
      <h1>{keyOptions.heading}</h1>
      {error ? <ErrorNote error={error} /> : null}
      {offered !== undefined ? (
        <PasskeyOffer api={makeKeyApi(offered, () => undefined)} onDone={() => open(offered)} />
      ) : elsewhere === undefined ? (
        <>
          <PasskeyCard enter={enter} />
          <details>
            <summary>Sign in with an operator key</summary>
            <KeyEntry onKey={onKey} />
          </details>
        </>
      ) : (
        <>
          <KeyEntry onKey={onKey} />
          <p class="muted">You cannot use a passkey at this address. {elsewhere}</p>
        </>
      )}
    </main>
  )
}
