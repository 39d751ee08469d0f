import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { repositoryRoot } from './markdown.ts'

/** The page without its code, line by line: code has no links. */
const proseOf = (page: string): string[] => {
  let isCode = false
  return page.split('\n').map((line) => {
    const isFence = /^ *```/.test(line)
    if (isFence) isCode = !isCode
    return isFence || isCode ? '' : line
  })
}

/** Anchors of a page's headings as GitHub writes them, and those set by `<a id>`. */
export const anchorsOf = (page: string): Set<string> => {
  const anchors = new Set<string>()
  for (const line of proseOf(page)) {
    for (const [, id] of line.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id ?? '')
    const heading = /^#{1,6} +(.*?) *#*$/.exec(line)?.[1]
    if (heading === undefined) continue
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let repeat = 1; anchors.has(anchor); repeat++) anchor = `${slug}-${repeat}`
    anchors.add(anchor)
  }
  return anchors
}

type Link = { readonly line: number; readonly target: string }
/** Links and images inside the repository. */
const linksOf = (page: string): Link[] =>
  proseOf(page).flatMap((text, index) => {
    const line = text.replaceAll(/`[^`]*`/g, '')
    const inline = [...line.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)]
    const defined = [...line.matchAll(/^ *\[[^\]]+\]: +<?(\S+?)>?$/g)]
    return [...inline, ...defined]
      .map((match) => ({ line: index + 1, target: match[1] ?? '' }))
      .filter(({ target }) => !/^[a-z]+:/.test(target))
  })

type PageLinks = { readonly links: number; readonly faults: readonly string[] }
/** The links of a page that lead nowhere. `path` is relative to the repository. */
export const checkLinks = (path: string, page: string): PageLinks => {
  const links = linksOf(page)
  const faults = links.flatMap(({ line, target }) => {
    const [file = '', anchor] = target.split('#')
    const found = file === '' ? path : normalize(join(dirname(path), decodeURI(file)))
    const full = join(repositoryRoot, found)
    if (file !== '' && (found.startsWith('..') || !existsSync(full)))
      return [`${path}:${line}: no file ${target}`]
    if (anchor === undefined) return []
    const text = file === '' ? page : statSync(full).isFile() ? readFileSync(full, 'utf8') : ''
    return anchorsOf(text).has(anchor) ? [] : [`${path}:${line}: no heading ${target}`]
  })
  return { links: links.length, faults }
}
