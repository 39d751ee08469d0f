type Child = Node | string
type Props = Readonly<Record<string, string | boolean | ((event: never) => void)>>

/** An element with attributes, listeners (`onclick`, …) and children. No HTML text is ever parsed. */
export const el = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] => {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function')
      made.addEventListener(name.slice(2), value as unknown as (event: Event) => void)
    else if (value !== false) made.setAttribute(name, value === true ? '' : value)
  }
  made.append(...children)
  return made
}

const svgSpace = 'http://www.w3.org/2000/svg'
/** An icon of one stroke. */
export const sign = (path: string): SVGSVGElement => {
  const svg = document.createElementNS(svgSpace, 'svg')
  const line = document.createElementNS(svgSpace, 'path')
  for (const [name, value] of [
    ['viewBox', '0 0 24 24'],
    ['aria-hidden', 'true'],
  ] as const)
    svg.setAttribute(name, value)
  line.setAttribute('d', path)
  svg.append(line)
  return svg
}
