import './docs.css'
import './print.css'

/** Every block of code gets a button that copies it. */
const addCopyButtons = (): void => {
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.addEventListener('click', () => {
      const text = block.querySelector('code')?.textContent ?? ''
      void navigator.clipboard.writeText(text).then(
        () => (button.textContent = 'Copied'),
        () => (button.textContent = 'Not copied: select the text'),
      )
      setTimeout(() => (button.textContent = 'Copy'), 2_000)
    })
    block.querySelector('.bar')?.append(button)
  }
}

/** The menu is a column on a wide screen and folded on a narrow one. */
const foldMenu = (): void => {
  const menu = document.querySelector('#menu')
  // The hub has none.
  if (!(menu instanceof HTMLDetailsElement)) return
  const wide = matchMedia('(min-width: 900px)')
  const apply = () => (menu.open = wide.matches)
  wide.addEventListener('change', apply)
  apply()
  menu.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select') !== null

/** What searches is loaded when somebody searches. */
const open = (): void => void import('./search.ts').then(({ openSearch }) => openSearch())

const offerSearch = (): void => {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-opens-search]')) {
    button.hidden = false
    button.addEventListener('click', open)
  }
  addEventListener('keydown', (event) => {
    const isShortcut = event.key === '/' || (event.key === 'k' && (event.ctrlKey || event.metaKey))
    if (!isShortcut || isTyping(event.target)) return
    event.preventDefault()
    open()
  })
}

addCopyButtons()
foldMenu()
offerSearch()
