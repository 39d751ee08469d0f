type Child = Node | string
type Attributes = Readonly<Record<string, string>>

const filled = <E extends Element>(made: E, attributes: Attributes, children: readonly Child[]): E => {
  for (const name in attributes) made.setAttribute(name, attributes[name] ?? '')
  made.append(...children)
  return made
}
/** An element with attributes and children. No HTML text is ever parsed. */
export const el = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] => filled(document.createElement(tag), attributes, children)

/** `kind` is the classes. */
export const button = (
  kind: string,
  onClick: (event: MouseEvent) => void,
  ...children: readonly Child[]
): HTMLButtonElement => {
  const made = el('button', { type: 'button', class: kind }, ...children)
  made.addEventListener('click', onClick)
  return made
}

/** Opens in a new tab. */
export const link = (kind: string, href: string, text: string): HTMLAnchorElement =>
  el('a', { class: kind, href, target: '_blank', rel: 'noopener' }, text)

const shape = (name: string, attributes: Attributes, ...children: readonly Child[]): Element =>
  filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children)
/** An icon of one stroke. */
export const sign = (kind: string, path: string): Element =>
  shape('svg', { viewBox: '0 0 24 24', class: kind, 'aria-hidden': 'true' }, shape('path', { d: path }))
