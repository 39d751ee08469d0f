import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** A link of the menu. Neighbours with the same group stand under one heading. */
export type MenuEntry = { readonly path: string; readonly name: string; readonly group?: string }

type MenuGroup = { readonly name: string | undefined; readonly entries: readonly MenuEntry[] }

const groupsOf = (entries: readonly MenuEntry[]): readonly MenuGroup[] => {
  const names = [...new Set(entries.map(({ group }) => group))]
  return names.map((name) => ({ name, entries: entries.filter(({ group }) => group === name) }))
}

const MenuLinks = ({ entries, current }: { entries: readonly MenuEntry[]; current: string }) => (
  <ul>
    {entries.map(({ path, name }) => (
      <li key={path}>
        <a href={`#/${path}`} {...(path === current ? { 'aria-current': 'page' as const } : {})}>
          {name}
        </a>
      </li>
    ))}
  </ul>
)

/** The side of the console: brand, who is signed in, and the menu, which is behind a button on a phone. */
export const Side = (props: {
  entries: readonly MenuEntry[]
  current: string
  /** Changes with every page, which closes the menu. */
  address: string
  label: string
  brand: ComponentChildren
  identity: ComponentChildren
  onSignOut: () => void
}) => {
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => setIsOpen(false), [props.address])
  return (
    <header class="side">
      <div class="head">
        <p class="brand">{props.brand}</p>
        {props.identity}
        <button
          type="button"
          class="btn menu"
          aria-expanded={isOpen}
          aria-controls="menu"
          onClick={() => setIsOpen(!isOpen)}
        >
          Menu
        </button>
      </div>
      <nav id="menu" class={isOpen ? 'open' : ''} aria-label={props.label}>
        {groupsOf(props.entries).map(({ name, entries }) => (
          <div key={name ?? ''}>
            {name === undefined ? null : <h2>{name}</h2>}
            <MenuLinks entries={entries} current={props.current} />
          </div>
        ))}
        <button type="button" class="btn quiet" onClick={props.onSignOut}>
          Sign out
        </button>
      </nav>
    </header>
  )
}
