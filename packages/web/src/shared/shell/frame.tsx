import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { toApiError, type Api, type ApiError } from '../api/client.ts'
import { SignOutContext } from '../api/sign-out-context.ts'
import { ModeMark } from './mode-mark.tsx'
import { Side, type MenuEntry } from './side.tsx'
import { useRoute } from './use-route.ts'
import './frame.css'

/** What every page gets. `rest` and `query` are the parts of the route behind the name of the page. */
export type PageProps = {
  readonly api: Api
  readonly issuer: string
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}
/** A page: its route, its name, its place in the menu and its view. */
export type ConsolePage = MenuEntry & {
  readonly View: ComponentType<PageProps>
  /** Only for people of an account: a key has no people. */
  readonly needsAccount?: true
}

/** Opens the API for somebody who signed in; `onRefused` is called when the sign-in no longer works. */
export type OpenApi = (onRefused: (error: ApiError | undefined) => void) => Api
export type SignInProps = {
  /** Why the last sign-in ended. */
  readonly error: ApiError | undefined
  /** Somebody was signed in since the page was loaded. */
  readonly wasOpen: boolean
  readonly brand: ComponentChildren
  readonly onOpen: (open: OpenApi) => void
}

const SkipLink = ({ onSkip }: { onSkip: () => void }) => (
  <a
    class="skip"
    href="#main"
    onClick={(event) => {
      // The part behind # is the route of the page.
      event.preventDefault()
      onSkip()
    }}
  >
    Skip to content
  </a>
)

type OpenFrameProps = {
  readonly pages: readonly ConsolePage[]
  readonly issuer: string
  readonly name: string
  readonly brand: ComponentChildren
  readonly Identity: ComponentType<{ readonly api: Api }> | undefined
  readonly api: Api
  readonly onSignOut: () => void
}

const OpenFrame = ({ pages, issuer, name, brand, Identity, api, onSignOut }: OpenFrameProps) => {
  const { path: route, query } = useRoute()
  const main = useRef<HTMLElement>(null)
  const shown = pages.filter(({ needsAccount }) => !needsAccount || api.account)
  const page = shown.find(({ path }) => path === route[0]) ?? shown[0]
  const address = route.join('/')
  useEffect(() => {
    document.title = `${page ? `${page.name} · ` : ''}${name} · PoHF`
    // The focus moves to the new content, for people who use a keyboard or a screen reader.
    main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [address, api])
  if (!page) return null
  const { View } = page
  return (
    <div class="app">
      <SkipLink onSkip={() => main.current?.focus()} />
      <Side
        entries={shown}
        current={page.path}
        address={address}
        label={name}
        brand={brand}
        identity={Identity ? <Identity key={api.mode} api={api} /> : null}
        onSignOut={onSignOut}
      />
      <main ref={main} id="main" class={api.mode} tabIndex={-1}>
        <ModeMark api={api} />
        <SignOutContext.Provider value={onSignOut}>
          <View
            key={`${page.path} ${api.mode}`}
            api={api}
            issuer={issuer}
            rest={route.slice(1)}
            query={query}
          />
        </SignOutContext.Provider>
      </main>
    </div>
  )
}

/** The frame of every page: sign-in, mode and menu. */
export const Frame = (props: {
  pages: readonly ConsolePage[]
  issuer: string
  /** The name of the console, as in the title of the page. */
  name: string
  SignIn: ComponentType<SignInProps>
  home?: string
  /** Who is signed in, below the brand. */
  Identity?: ComponentType<{ readonly api: Api }>
}) => {
  const { name, home, SignIn } = props
  const [open, setOpen] = useState<{ readonly openApi: OpenApi }>()
  const [closed, setClosed] = useState<{ readonly error: ApiError | undefined }>()
  const close = (error: ApiError | undefined) => {
    setClosed({ error })
    setOpen(undefined)
    document.title = `${name} · PoHF`
  }
  const api = useMemo(() => open?.openApi(close), [open])
  const brand = home === undefined ? 'PoHF' : <a href={home}>PoHF</a>
  if (!api)
    return (
      <SignIn
        error={closed?.error}
        wasOpen={closed !== undefined}
        brand={brand}
        onOpen={(openApi) => setOpen({ openApi })}
      />
    )
  const signOut = () => {
    // The page closes in any case.
    const done = api.signOut?.() ?? Promise.resolve()
    void done.then(
      () => close(undefined),
      (error: unknown) => {
        const details = ['This browser is still signed in. Reload the page, and sign out again.']
        close({ ...toApiError(error), details })
      },
    )
  }
  return (
    <OpenFrame
      pages={props.pages}
      issuer={props.issuer}
      name={name}
      brand={brand}
      Identity={props.Identity}
      api={api}
      onSignOut={signOut}
    />
  )
}
