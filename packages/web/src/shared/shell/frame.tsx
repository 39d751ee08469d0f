import type { ComponentType } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { makeApi, type Api, type ApiError } from '../api/client.ts'
import { SignInView, type SignInOptions } from './sign-in.tsx'
import { useRoute } from './use-route.ts'

/** A page: its place in the address, its name, and what it shows. `rest` and `query` are what follows in the address. */
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

/** The frame of every page: who is looking, in which mode, and where to go. */
export const Frame = (given: {
  pages: readonly ConsolePage[]
  issuer: string
  door: SignInOptions
  home?: string
}) => {
  const { pages, issuer, door, home } = given
  const [key, setKey] = useState<string>()
  const [trouble, setTrouble] = useState<ApiError>()
  const { path: place, query } = useRoute()
  const main = useRef<HTMLElement>(null)
  const api = useMemo(
    () =>
      key === undefined
        ? undefined
        : makeApi(key, (bad) => {
            setTrouble(bad)
            setKey(undefined)
          }),
    [key],
  )
  const page = pages.find(({ path }) => path === place[0]) ?? pages[0]
  const address = place.join('/')
  useEffect(() => {
    document.title = `${page && api ? `${page.name} · ` : ''}${door.name} · PoHF`
    // Whoever follows a link by keyboard or hears the page is taken to what is new.
    if (api) main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [address, api])
  const brand = home === undefined ? 'PoHF' : <a href={home}>PoHF</a>
  if (!api || !page)
    return (
      <SignInView
        door={door}
        trouble={trouble}
        brand={brand}
        onKey={(text) => (setTrouble(undefined), setKey(text))}
      />
    )
  const { View } = page
  const [mode, tone] = modes[api.mode]
  return (
    <div class="app">
      <header class="side">
        <p class="brand">{brand}</p>
        <nav aria-label={door.name}>
          {pages.map(({ path, name }) => (
            <a
              key={path}
              href={`#/${path}`}
              {...(path === page.path ? { 'aria-current': 'page' as const } : {})}
            >
              {name}
            </a>
          ))}
        </nav>
        <button type="button" class="btn quiet" onClick={() => setKey(undefined)}>
          Forget the key
        </button>
      </header>
      <main ref={main} tabIndex={-1}>
        <p class="mode">
          <span class={`chip ${tone}`}>{mode}</span>
        </p>
        <View key={page.path} api={api} issuer={issuer} rest={place.slice(1)} query={query} />
      </main>
    </div>
  )
}
