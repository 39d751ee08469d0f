import sheetText from './check.css?inline'
import { el, sign } from './dom.ts'
import { runCheck, type Outcome } from './overlay.ts'
import { asksForPrivacy, ownOrigin, start, type Options } from './session.ts'
import { messagesFor } from './messages.ts'

const signs = {
  idle: 'M12 12m-7 0a7 7 0 1 0 14 0a7 7 0 1 0 -14 0',
  done: 'M5 12.5l4.5 5L19 7',
  failed: 'M12 5v9M12 18.5v.5',
}
type State = 'idle' | 'running' | 'done' | 'failed' | 'offline'

/** `<pohf-check site="agt_…">`: a form control whose value is the id of a finished session. */
class PohfCheck extends HTMLElement {
  static readonly formAssociated = true
  static readonly observedAttributes = ['required', 'disabled', 'lang']
  readonly #internals = this.attachInternals()
  readonly #root = this.attachShadow({ mode: 'open', delegatesFocus: true })
  readonly #box = el('div', { class: 'box' })
  #state: State = 'idle'
  #why = ''
  #trapped = false

  constructor() {
    super()
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(sheetText)
    this.#root.adoptedStyleSheets = [sheet]
    // People cannot see or reach it; a program that presses every button of a page does.
    const trap = el(
      'button',
      {
        type: 'button',
        class: 'trap',
        tabindex: '-1',
        'aria-hidden': 'true',
        onclick: () => {
          this.#trapped = true
        },
      },
      'Confirm',
    )
    this.#root.append(this.#box, trap)
  }
  connectedCallback(): void {
    this.#show(this.#state, this.#why)
  }
  /** Ends the check when the page removes the element. */
  disconnectedCallback(): void {
    this.#root.querySelector('dialog')?.close()
  }
  attributeChangedCallback(): void {
    if (this.isConnected) this.#show(this.#state, this.#why)
  }
  formResetCallback(): void {
    this.#internals.setFormValue(null)
    this.#show('idle')
  }
  formDisabledCallback(): void {
    this.#show(this.#state, this.#why)
  }

  #show(state: State, why = ''): void {
    const { lang, messages } = messagesFor(this)
    this.#state = state
    this.#why = why
    this.#box.lang = lang
    this.#box.className = `box ${state}`
    const texts: Record<State, readonly [string, string]> = {
      idle: ['', messages.idle],
      running: ['', messages.running],
      done: [messages.done, messages.doneNext],
      failed: [messages.failed, why],
      offline: [messages.offline, messages.offlineNext],
    }
    const [strong, small] = texts[state]
    const label = state === 'idle' || state === 'running' ? messages.button : messages.again
    const button = el(
      'button',
      {
        type: 'button',
        class: 'btn',
        disabled: state === 'running' || this.matches(':disabled'),
        onclick: () => void this.#run(),
      },
      label,
    )
    const message = el(
      'p',
      { role: 'status', tabindex: '-1' },
      ...(strong ? [el('strong', {}, strong), ' '] : []),
      small,
    )
    const mark = sign(
      signs[state === 'done' ? 'done' : state === 'idle' || state === 'running' ? 'idle' : 'failed'],
    )
    this.#box.replaceChildren(mark, message, ...(state === 'done' ? [] : [button]))
    const isMissing = this.hasAttribute('required') && state !== 'done'
    this.#internals.setValidity(
      { valueMissing: isMissing },
      isMissing ? messages.missing : '',
      isMissing ? button : undefined,
    )
  }

  async #run(): Promise<void> {
    const { lang, messages } = messagesFor(this)
    if (!navigator.onLine) {
      addEventListener('online', () => this.#state === 'offline' && this.#show('idle'), { once: true })
      return this.#show('offline')
    }
    const attribute = (name: string) => this.getAttribute(name) ?? undefined
    const given = {
      kind: attribute('kind') as Options['kind'],
      workflowId: attribute('workflow-id'),
      challenge: attribute('challenge'),
      baseUrl: attribute('base-url') ?? ownOrigin,
    }
    const outcome = await runCheck({
      root: this.#root,
      messages,
      lang,
      options: { site: attribute('site') ?? '', ...(given as Omit<Options, 'site'>) },
      host: given.baseUrl ? new URL(given.baseUrl).host : '',
      isRequired: this.hasAttribute('required'),
      isTrapped: () => this.#trapped,
      onRunning: () => this.#show('running'),
    })
    this.#settle(outcome)
  }

  #settle(outcome: Outcome): void {
    const { messages } = messagesFor(this)
    if (outcome.kind === 'done') {
      const { sessionId } = outcome.finished
      const value = new FormData()
      value.append(this.getAttribute('name') ?? 'pohf-session', sessionId)
      this.#internals.setFormValue(value)
      this.#show('done')
      this.#tell('pohf-done', outcome.finished)
    } else {
      if (this.#state === 'idle' && outcome.code === 'left') return
      this.#show('failed', messages.why[outcome.code] ?? messages.whyElse)
      this.#tell('pohf-failed', { code: outcome.code })
    }
    // The button that opened the dialog was replaced; without this the focus would be lost.
    ;(this.#box.querySelector('button') ?? this.#box.querySelector('p'))?.focus()
  }
  #tell(type: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }))
  }
}

Object.assign(globalThis, { pohf: { start, asksForPrivacy } })
if (!customElements.get('pohf-check')) customElements.define('pohf-check', PohfCheck)
