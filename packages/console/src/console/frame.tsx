import type { ComponentType } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { isKey, makeApi, type Api, type Trouble } from './api.ts'
import { TroubleNote } from './parts.tsx'

/** A page of the console: its place in the address, its name, and what it shows. `rest` is what follows in the address. */
export type ConsolePage = {
  readonly path: string
  readonly name: string
  readonly View: ComponentType<{
    readonly api: Api
    readonly issuer: string
    readonly rest: readonly string[]
  }>
}

const placeOf = (hash: string): readonly string[] =>
  hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')

const usePlace = (): readonly string[] => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const read = () => setHash(location.hash)
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return placeOf(hash)
}

const KeyForm = ({ trouble, onKey }: { trouble: Trouble | undefined; onKey: (key: string) => void }) => {
  const [text, setText] = useState('')
  const [wrong, setWrong] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    const key = text.trim()
    if (isKey(key)) onKey(key)
    else setWrong(true)
  }
  return (
    <main class="page narrow">
      <p class="brand">
        <a href="/">PoHF</a>
      </p>
      <h1>Which agent are you?</h1>
      <p class="muted">
        Paste an API key. It stays in the memory of this tab: no cookie, nothing stored, gone with a reload.
        The pages speak to the public API only, with this key.
      </p>
      {trouble ? <TroubleNote trouble={trouble} /> : null}
      <form class="paste card pad" onSubmit={submit}>
        <label for="key">API key</label>
        <input
          id="key"
          type="password"
          required
          maxLength={120}
          autocomplete="off"
          spellcheck={false}
          placeholder="svc_test_…"
          value={text}
          aria-invalid={wrong}
          aria-describedby={wrong ? 'key-wrong' : undefined}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setWrong(false)
          }}
        />
        {wrong ? (
          <p class="bad" id="key-wrong" role="alert">
            A key begins with svc_test_ or svc_live_. Paste it whole.
          </p>
        ) : null}
        <p>
          <button class="btn main" type="submit">
            Open the console
          </button>
        </p>
      </form>
      <section class="card pad" aria-labelledby="no-key">
        <h2 class="h3" id="no-key">
          No key yet?
        </h2>
        <p class="muted gap">One command makes a free test key.</p>
        <pre
          tabIndex={0}
          aria-label="Command for a test key"
        >{`curl -s ${location.origin}/api/agents/register \\
  --json '{"name":"me","mode":"test",
    "contactEmail":"me@example.com"}'`}</pre>
      </section>
    </main>
  )
}

/** The frame of every page: who is looking, in which mode, and where to go. */
export const Frame = ({ pages, issuer }: { pages: readonly ConsolePage[]; issuer: string }) => {
  const [key, setKey] = useState<string>()
  const [trouble, setTrouble] = useState<Trouble>()
  const place = usePlace()
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
    document.title = `${page && api ? `${page.name} · ` : ''}Console · PoHF`
    // Whoever follows a link by keyboard or hears the page is taken to what is new.
    if (api) main.current?.focus({ preventScroll: true })
  }, [address, api])
  if (!api || !page)
    return <KeyForm trouble={trouble} onKey={(given) => (setTrouble(undefined), setKey(given))} />
  const { View } = page
  return (
    <div class="app">
      <header class="side">
        <a class="brand" href="/">
          PoHF
        </a>
        <nav aria-label="Console">
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
          <span class={`chip ${api.mode === 'test' ? 'test' : 'ok'}`}>
            {api.mode === 'test' ? 'Test mode' : 'Live mode'}
          </span>
        </p>
        <View key={page.path} api={api} issuer={issuer} rest={place.slice(1)} />
      </main>
    </div>
  )
}
