import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { makeApi, type Api, type ApiError } from '../api/client.ts'
import { SignInView, type SignInOptions } from './sign-in.tsx'
import { useRoute } from './use-route.ts'

/** A page: its route, its name and its view. `rest` and `query` are the remaining parts of the route. */
export type ConsolePage = {
  readonly path: string
  readonly name: string
  readonly View: ComponentType<{
    readonly api: Api
    readonly issuer: string
    readonly rest: readonly string[]
    readonly query: URLSearchParams
  }>
}

const modes: Readonly<Record<Api['mode'], readonly [word: string, tone: string]>> = {
  test: ['Test mode', 'test'],
  live: ['Live mode', 'ok'],
  operator: ['Operator', 'warn'],
}

const Side = (props: {
  pages: readonly ConsolePage[]
  current: ConsolePage
  label: string
  brand: ComponentChildren
  onForget: () => void
}) => (
  <header class="side">
    <p class="brand">{props.brand}</p>
    <nav aria-label={props.label}>
      {props.pages.map(({ path, name }) => (
        <a
          key={path}
          href={`#/${path}`}
          {...(path === props.current.path ? { 'aria-current': 'page' as const } : {})}
        >
          {name}
        </a>
      ))}
    </nav>
    <button type="button" class="btn quiet" onClick={props.onForget}>
      Forget the key
    </button>
  </header>
)

/** The frame of every page: sign-in, mode and navigation. */
export const Frame = (props: {
  pages: readonly ConsolePage[]
  issuer: string
  signIn: SignInOptions
  home?: string
}) => {
  const { pages, issuer, signIn, home } = props
  const [key, setKey] = useState<string>()
  const [error, setError] = useState<ApiError>()
  const { path: route, query } = useRoute()
  const main = useRef<HTMLElement>(null)
  const api = useMemo(
    () =>
      key === undefined
        ? undefined
        : makeApi(key, (bad) => {
            setError(bad)
            setKey(undefined)
          }),
    [key],
  )
  const page = pages.find(({ path }) => path === route[0]) ?? pages[0]
  const address = route.join('/')
  useEffect(() => {
    document.title = `${page && api ? `${page.name} · ` : ''}${signIn.name} · PoHF`
    // The focus moves to the new content, for people who use a keyboard or a screen reader.
    if (api) main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [address, api])
  const brand = home === undefined ? 'PoHF' : <a href={home}>PoHF</a>
  if (!api || !page)
    return (
      <SignInView
        signIn={signIn}
        error={error}
        brand={brand}
        onKey={(text) => (setError(undefined), setKey(text))}
      />
    )
  const { View } = page
  const [mode, tone] = modes[api.mode]
  return (
    <div class="app">
      <Side
        pages={pages}
        current={page}
        label={signIn.name}
        brand={brand}
        onForget={() => setKey(undefined)}
      />
      <main ref={main} tabIndex={-1}>
        <p class="mode">
          <span class={`chip ${tone}`}>{mode}</span>
        </p>
        <View key={page.path} api={api} issuer={issuer} rest={route.slice(1)} query={query} />
      </main>
    </div>
  )
}
