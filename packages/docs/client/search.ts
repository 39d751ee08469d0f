import MiniSearch, { type SearchResult } from 'minisearch'
import { searchOptions, type SearchPart } from '../src/search-options.ts'

const resultsMax = 20

const find = <T extends Element>(selector: string, kind: new () => T): T => {
  const found = document.querySelector(selector)
  if (!(found instanceof kind)) throw new Error(`${selector} is not in the page`)
  return found
}

const dialog = find('#search', HTMLDialogElement)
const input = find('#search-text', HTMLInputElement)
const status = find('#search-status', HTMLParagraphElement)
const list = find('#search-results', HTMLOListElement)

const loadIndex = async (): Promise<MiniSearch<SearchPart>> => {
  const address = document.querySelector('script[data-index]')?.getAttribute('data-index') ?? ''
  const response = await fetch(address)
  if (!response.ok) throw new Error(`${address} answered ${response.status}`)
  return MiniSearch.loadJSON<SearchPart>(await response.text(), searchOptions)
}

let index: Promise<MiniSearch<SearchPart>> | undefined

const itemOf = (result: SearchResult): HTMLLIElement => {
  const { id, title, heading, section } = result as SearchResult & SearchPart
  const link = document.createElement('a')
  link.href = id
  const name = document.createElement('strong')
  name.textContent = title
  const part = document.createElement('span')
  part.textContent = heading
  const place = document.createElement('small')
  place.textContent = section
  link.append(name, part, place)
  // A result on the same page changes the address only.
  link.addEventListener('click', () => dialog.close())
  const item = document.createElement('li')
  item.append(link)
  return item
}

const show = async (): Promise<void> => {
  const text = input.value.trim()
  if (text === '') {
    list.replaceChildren()
    status.textContent = 'Words of a title, a heading or the text.'
    return
  }
  try {
    index ??= loadIndex()
    const results = (await index).search(text)
    // A later key has been pressed meanwhile.
    if (text !== input.value.trim()) return
    list.replaceChildren(...results.slice(0, resultsMax).map(itemOf))
    status.textContent =
      results.length === 0
        ? 'Nothing found.'
        : results.length > resultsMax
          ? `The first ${resultsMax} of ${results.length} results`
          : `${results.length} ${results.length === 1 ? 'result' : 'results'}`
  } catch {
    index = undefined
    status.textContent = 'The search did not load. Try again.'
  }
}

/** The arrows move between the field and the results; Enter in the field opens the first result. */
const move = (event: KeyboardEvent): void => {
  const links = [...list.querySelectorAll('a')]
  if (event.key === 'Enter' && event.target === input) links[0]?.click()
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const stops: HTMLElement[] = [input, ...links]
  const at = stops.findIndex((stop) => stop === document.activeElement)
  stops[Math.max(0, Math.min(stops.length - 1, at + step))]?.focus()
}

input.addEventListener('input', () => void show())
dialog.addEventListener('keydown', move)
find('#search-close', HTMLButtonElement).addEventListener('click', () => dialog.close())

/** Opens the search, with the words of the last one selected. */
export const openSearch = (): void => {
  if (dialog.open) return
  dialog.showModal()
  input.select()
  void show()
}
