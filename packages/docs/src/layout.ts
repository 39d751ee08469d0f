import { pageAddressOf } from './documents.ts'
import { escapeHtml, type Heading } from './markdown.ts'
import { hubPath, menuPathOf, sections } from './menu.ts'

export type PageContent = {
  readonly path: string
  readonly title: string
  readonly description: string
  readonly html: string
  readonly headings: readonly Heading[]
  readonly neighbours: readonly [previous: string | undefined, next: string | undefined]
}
/** What all pages share. */
export type Site = {
  readonly titles: ReadonlyMap<string, string>
  readonly script: string
  readonly style: string
  readonly index: string
}

const linkOf = (path: string, titles: Site['titles'], attributes = ''): string =>
  `<a href="${pageAddressOf(path)}"${attributes}>${escapeHtml(titles.get(path) ?? path)}</a>`

const menuOf = (path: string, titles: Site['titles']): string => {
  const current = menuPathOf(path)
  const groups = sections.map(({ title, paths }) => {
    const links = paths.map((own) => {
      const mark = own !== current ? '' : own === path ? ' aria-current="page"' : ' aria-current="true"'
      return `<li>${linkOf(own, titles, mark)}</li>`
    })
    const open = paths.includes(current ?? hubPath) ? ' open' : ''
    return `<details${open}><summary>${title}</summary><ul>${links.join('')}</ul></details>`
  })
  return groups.join('\n')
}

/** Headings of the second level, and of the third where they are few. */
const contentsOf = (headings: readonly Heading[]): string => {
  const shown = headings.filter(({ level }) => level === 2 || level === 3)
  const fits = shown.length <= 24 ? shown : shown.filter(({ level }) => level === 2)
  if (fits.length < 2) return ''
  const links = fits.map(
    ({ level, text, anchor }) =>
      `<li class="level-${level}"><a href="#${anchor}">${escapeHtml(text)}</a></li>`,
  )
  return `<nav class="contents" aria-labelledby="contents-title"><h2 id="contents-title">On this page</h2><ul>${links.join('')}</ul></nav>`
}

const pagerOf = ([previous, next]: PageContent['neighbours'], titles: Site['titles']): string => {
  const side = (path: string | undefined, label: string, rel: string): string =>
    path === undefined
      ? ''
      : `<a rel="${rel}" href="${pageAddressOf(path)}"><small>${label}</small>${escapeHtml(titles.get(path) ?? '')}</a>`
  const links = side(previous, 'Previous', 'prev') + side(next, 'Next', 'next')
  return links === '' ? '' : `<nav class="pager" aria-label="Previous and next page">${links}</nav>`
}

const menuPart = (path: string, titles: Site['titles']): string =>
  `<nav class="menu" aria-label="Documentation"><details id="menu"><summary>Menu</summary>
${menuOf(path, titles)}
</details></nav>`

/** On the hub the search is a part of the page, and the ways in are the menu. */
const hubSearch =
  '<p class="hub-search"><button class="btn" type="button" data-opens-search hidden>Search all pages <kbd aria-hidden="true">/</kbd></button></p>'

const searchDialog = `<dialog id="search" aria-label="Search the documentation">
<label for="search-text">Search the documentation</label>
<div class="search-row"><input id="search-text" type="search" autocomplete="off" spellcheck="false"><button class="btn" type="button" id="search-close">Close</button></div>
<p id="search-status" role="status" class="muted"></p>
<ol id="search-results"></ol>
</dialog>`

/** The whole page. Styles and scripts are files: the policy of the server allows none inside. */
export const pageOf = (content: PageContent, { titles, script, style, index }: Site): string => {
  const { path, title, description, html, headings, neighbours } = content
  const isHub = path === hubPath
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · PoHF documentation</title>
<meta name="description" content="${escapeHtml(description)}">
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}" data-index="${index}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<a class="brand" href="/docs">PoHF <span>documentation</span></a>
<button class="btn" type="button" id="search-open" data-opens-search aria-keyshortcuts="/" hidden>Search <kbd aria-hidden="true">/</kbd></button>
<nav aria-label="Site"><a href="/docs/reference/api">API</a> <a href="/docs/errors">Errors</a> <a href="/">Service</a></nav>
</header>
<div class="${isHub ? 'hub' : 'frame'}">
${isHub ? '' : menuPart(path, titles)}
<main id="content" tabindex="-1">
${isHub ? hubSearch : ''}
<article>
${html}
</article>
${isHub ? '' : pagerOf(neighbours, titles)}
</main>
${isHub ? '' : contentsOf(headings)}
</div>
${searchDialog}
</body>
</html>
`
}
