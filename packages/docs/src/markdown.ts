import { dirname, join, normalize } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'

export type Heading = { readonly level: number; readonly text: string; readonly anchor: string }
export type RenderedPage = {
  readonly html: string
  readonly headings: readonly Heading[]
  /** Each part of the page below a heading, as plain text. */
  readonly parts: readonly { readonly heading: Heading | undefined; readonly text: string }[]
}

/** The address of a file or folder of the repository; undefined where the site does not have it. */
export type Resolve = (path: string) => string | undefined

/** Tables keep their alignment in a class: the policy of the pages allows no inline style. */
const alignments: Readonly<Record<string, string>> = {
  'text-align:right': 'num',
  'text-align:center': 'center',
}

const markdown = new MarkdownIt({ html: true })
export const { escapeHtml } = markdown.utils

markdown.renderer.rules['fence'] = (tokens, index) => {
  const { content = '', info = '' } = tokens[index] ?? {}
  const [language = 'text'] = info.trim().split(/\s+/)
  return `<div class="code"><p class="bar">${escapeHtml(language)}</p><pre tabindex="0"><code>${escapeHtml(content)}</code></pre></div>\n`
}
markdown.renderer.rules['table_open'] = () => '<div class="scroll" tabindex="0"><table>\n'
markdown.renderer.rules['table_close'] = () => '</table></div>\n'

/** The anchor that GitHub gives a heading, so that links work in both places. */
const anchorOf = (source: string): string =>
  source
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-')

const plainText = (tokens: readonly Token[]): string =>
  tokens
    .map(({ type, content, children }) => {
      if (type === 'softbreak' || type === 'hardbreak') return ' '
      return type === 'text' || type === 'code_inline' ? content : plainText(children ?? [])
    })
    .join('')

/** Gives each heading its anchor and a link to itself. */
const markHeadings = (tokens: readonly Token[]): Heading[] => {
  const used = new Set<string>()
  return tokens.flatMap((token, index) => {
    const inline = tokens[index + 1]
    if (token.type !== 'heading_open' || !inline) return []
    const base = anchorOf(inline.content)
    let anchor = base
    for (let repeat = 1; used.has(anchor); repeat++) anchor = `${base}-${repeat}`
    used.add(anchor)
    token.attrSet('id', anchor)
    return [{ level: Number(token.tag.slice(1)), text: plainText(inline.children ?? []), anchor }]
  })
}

const resolveTarget = (target: string, path: string, resolve: Resolve): string | undefined => {
  if (/^[a-z]+:|^\//.test(target)) return target
  const [file = '', anchor] = target.split('#')
  if (file === '') return target
  const address = resolve(normalize(join(dirname(path), decodeURI(file))).replace(/\/$/, ''))
  return address === undefined || anchor === undefined ? address : `${address}#${anchor}`
}

/**
 * HTML in a document is an anchor, a line break or a comment. Anything else is a placeholder such as <your key>, which a
 * browser would hide.
 */
const allowedHtml = /^(?:<!--[\s\S]*-->\s*|<a (?:id|name)="[\w-]+">|<\/a>|<br>)$/
const checkHtml = ({ type, content }: Token, path: string): void => {
  if (type.startsWith('html_') && !allowedHtml.test(content))
    throw new Error(`${path}: ${content} is not shown`)
}

/** A link to a file that the site does not have becomes text, with the path of the file. */
const unlink = (token: Token, path: string, target: string): void => {
  token.tag = 'span'
  token.attrs = [
    ['class', 'file'],
    ['title', normalize(join(dirname(path), target))],
  ]
}

const resolveLinks = (tokens: readonly Token[], path: string, resolve: Resolve): void => {
  let isUnlinked = false
  for (const token of tokens) {
    checkHtml(token, path)
    const name = token.type === 'image' ? 'src' : 'href'
    if (token.type === 'link_close' && isUnlinked) {
      token.tag = 'span'
      isUnlinked = false
    }
    const attribute = token.attrGet(name)
    if (attribute !== null) {
      const target = String(attribute)
      const found = resolveTarget(target, path, resolve)
      if (found !== undefined) token.attrSet(name, found)
      else if (token.type === 'image') throw new Error(`${path}: no image ${target}`)
      else {
        isUnlinked = true
        unlink(token, path, target)
      }
    }
    if (token.type.endsWith('_open') && /^t[hd]$/.test(token.tag)) {
      const style = token.attrGet('style')
      token.attrs = null
      const alignment = style === null ? undefined : alignments[style]
      if (alignment !== undefined) token.attrSet('class', alignment)
    }
    resolveLinks(token.children ?? [], path, resolve)
  }
}

const partsOf = (tokens: readonly Token[], headings: readonly Heading[]): RenderedPage['parts'] => {
  const parts: { heading: Heading | undefined; text: string }[] = [{ heading: undefined, text: '' }]
  let next = 0
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const heading = headings[next++]
      if (heading && heading.level <= 3) parts.push({ heading, text: '' })
      continue
    }
    const isHeading = tokens[index - 1]?.type === 'heading_open'
    const text =
      token.type === 'inline' ? plainText(token.children ?? []) : token.type === 'fence' ? token.content : ''
    const part = parts.at(-1)
    if (part && !isHeading && text !== '') part.text += `${text} `
  }
  return parts
}

/** Renders a document whose file is `path`; its links become addresses of the site. */
export const renderMarkdown = (text: string, path: string, resolve: Resolve): RenderedPage => {
  const tokens = markdown.parse(text, {})
  const headings = markHeadings(tokens)
  resolveLinks(tokens, path, resolve)
  const parts = partsOf(tokens, headings)
  return { html: markdown.renderer.render(tokens, markdown.options, {}), headings, parts }
}
