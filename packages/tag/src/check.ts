import { browserKeyFor } from './browser-key.ts'
import { makeCheckRun } from './check-run.ts'
import sheetText from './check.css?inline'
import { PohfError } from './connection.ts'
import { button, el } from './dom.ts'
import { consentLines, idleScreen } from './screens.ts'
import { asksForPrivacy, ownOrigin, start, type FinishedSession, type Options } from './session.ts'
import { fillPlaceholders, messagesFor } from './messages.ts'
import { makeView } from './view.ts'

/** The service reserves what a passed check needs for this long; a page may want less. */
const validSecondsMax = 900
const validSecondsMin = 60
/** A narrower place cannot hold a question; then it is shown in a dialog. */
const widthMin = 240

/** What the attributes of the element say now. */
const readAttributes = (host: HTMLElement) => {
  const attribute = (name: string) => host.getAttribute(name) ?? undefined
  const baseUrl = attribute('base-url') ?? ownOrigin ?? location.origin
  const site = attribute('site') ?? ''
  const given = {
    kind: attribute('kind'),
    workflowId: attribute('workflow-id'),
    challenge: attribute('challenge'),
  } as Pick<Options, 'kind' | 'workflowId' | 'challenge'>
  return {
    ...given,
    site,
    baseUrl,
    host: new URL(baseUrl).host,
    browserKey: browserKeyFor(baseUrl, site),
    remembers: !host.hasAttribute('no-memory') && !asksForPrivacy(),
    helpUrl: attribute('help-url'),
    privacyUrl: attribute('privacy-url'),
    validSeconds: Math.max(
      validSecondsMin,
      Math.min(validSecondsMax, Number(attribute('valid-seconds')) || validSecondsMax),
    ),
    isRequired: host.hasAttribute('required'),
    isInvisible: attribute('mode') === 'invisible',
  }
}

/** What happens in the element. */
const createControl = (host: HTMLElement, internals: ElementInternals, root: ShadowRoot) => {
  const dialog = el('dialog')
  /** Hidden fields in the page, as other checks have them. */
  const fields: HTMLInputElement[] = []
  let response = ''
  let expiry: ReturnType<typeof setTimeout> | undefined
  let expiresAt = 0
  let isRemembered = false
  let isTrapped = false
  /** What had the focus before the box was shown. */
  let before: HTMLElement | null = null
  /** Sends the form that waits for the check. */
  let submit: (() => void) | undefined

  const given = () => readAttributes(host)
  const tell = (type: string, detail: unknown) =>
    host.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }))

  const build = () => {
    const { lang, messages } = messagesFor(host)
    const view = makeView(messages, lang, stop)
    const checkRun = makeCheckRun({
      view,
      messages,
      lang,
      given,
      isTrapped: () => isTrapped,
      onPassed: pass,
      onFailed: (detail) => tell('pohf-failed', detail),
      onLeft: leave,
    })
    view.box.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && checkRun.isRunning()) {
        event.preventDefault()
        stop()
      } else checkRun.chooseByKey(event)
    })
    return { messages, view, checkRun }
  }

  /** In the invisible mode the box is shown only while it is needed. */
  const reveal = (isShown: boolean): void => {
    const { box } = built.view
    const hadFocus = root.activeElement
    if (box.hidden) before = document.activeElement as HTMLElement | null
    box.hidden = !isShown
    if (box.hidden && hadFocus) before?.focus()
    const isCramped = isShown && given().isInvisible && host.clientWidth < widthMin
    const place = isCramped ? dialog : root
    // Moving it, even to where it is, would lose the focus.
    if (box.parentNode !== place) place.prepend(box)
    if (!isCramped) dialog.close()
    else if (!dialog.open) dialog.showModal()
  }
  const checkValidity = (): void => {
    const { isRequired, isInvisible } = given()
    const valueMissing = isRequired && !response && !isInvisible
    internals.setValidity({ valueMissing }, built.messages.start, built.view.box)
  }
  const showIdle = (about = '', isWanted = !given().isInvisible): void => {
    reveal(isWanted)
    built.view.show(
      idleScreen(
        built.messages,
        {
          ...given(),
          about,
          isRemembered,
          isPrivate: asksForPrivacy(),
          isDisabled: host.matches(':disabled'),
        },
        { start: () => begin(false), other: () => begin(true) },
      ),
    )
    checkValidity()
  }
  /** Builds the box anew, in the language of the element. */
  const rebuild = (): void => {
    built.view.box.remove()
    built = build()
    holdForm()
    showIdle()
  }

  const begin = (usesWords: boolean, consent = true): void => {
    const { messages, view, checkRun } = built
    reveal(true)
    if (!consent) view.note(...consentLines(messages, given()))
    if (navigator.onLine) return checkRun.begin(usesWords, consent)
    checkRun.fail(new PohfError('offline'))
    addEventListener('online', () => view.isShowing('offline') && showIdle(), { once: true })
  }
  const execute = (): void => {
    if (built.checkRun.isRunning() || response) return
    if (asksForPrivacy()) showIdle('', true)
    else begin(false, false)
  }
  const setResponse = (sessionId: string): void => {
    response = sessionId
    clearTimeout(expiry)
    for (const field of fields) field.value = sessionId
    const value = new FormData()
    value.append(host.getAttribute('name') ?? 'pohf-session', sessionId)
    internals.setFormValue(sessionId ? value : null)
    checkValidity()
  }
  const reset = (about?: string): void => {
    built.checkRun.stop()
    submit = undefined
    setResponse('')
    showIdle(about)
  }
  /** Back to the beginning, by the person. */
  const leave = (code: string): void => {
    if (built.view.box.hidden || response) return
    reset()
    tell('pohf-failed', { code })
  }
  const stop = (): void => leave('left')

  const showPassed = (returning: boolean, isKept = false): void => {
    const { messages, view } = built
    const forget = () => {
      void given().browserKey.forget()
      isRemembered = false
      showPassed(returning)
    }
    view.show({
      state: 'passed',
      icon: 'ok',
      title: returning ? `${messages.welcome} ${messages.passed}` : messages.passed,
      text: fillPlaceholders(messages.passedNext, Math.round((expiresAt - performance.now()) / 60_000)),
      acts: isKept ? [button('link', forget, messages.forget)] : [],
    })
  }
  const pass = (finished: FinishedSession, returning: boolean, ms: number): void => {
    const { sessionId } = finished
    const { browserKey, remembers, isInvisible, validSeconds } = given()
    setResponse(sessionId)
    // The service counts from the end of the session too.
    const validMs = validSeconds * 1_000 - ms
    expiresAt = performance.now() + validMs
    showPassed(returning)
    reveal(!isInvisible)
    expiry = setTimeout(() => {
      reset(built.messages.checkExpired)
      tell('pohf-expired', { sessionId })
    }, validMs)
    if (remembers)
      void browserKey.keep().then((isKept) => isKept && response === sessionId && showPassed(returning, true))
    tell('pohf-done', finished)
    submit?.()
  }

  /** In the invisible mode sending the form starts the check, and passing it sends the form. */
  const holdBack = (event: SubmitEvent): void => {
    const form = event.target as HTMLFormElement
    if (!given().isInvisible || response || form !== internals.form) return
    event.preventDefault()
    event.stopImmediatePropagation()
    submit = () => form.requestSubmit(event.submitter)
    execute()
  }
  const holdForm = (): void => {
    if (given().isInvisible) internals.form?.addEventListener('submit', holdBack, true)
  }
  const connect = async (): Promise<void> => {
    rebuild()
    if (fields.length === 0)
      for (const name of host.getAttribute('response-field')?.match(/\S+/g) ?? [])
        fields.push(el('input', { type: 'hidden', name }))
    host.append(...fields)
    // A key that the site or the person does not want is deleted.
    const { browserKey, remembers } = given()
    isRemembered = (await (remembers ? browserKey.readKey() : browserKey.forget())) !== undefined
    if (isRemembered && built.view.isShowing('idle')) showIdle()
  }

  let built = build()
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(sheetText)
  root.adoptedStyleSheets = [sheet]
  // People cannot see or reach it; a program that presses every button of a page does.
  const trap = button('trap', () => (isTrapped = true), 'Confirm')
  trap.tabIndex = -1
  trap.ariaHidden = 'true'
  root.append(built.view.box, dialog, trap)
  dialog.addEventListener('close', stop)
  return {
    connect,
    execute,
    reset,
    response: () => response,
    holdForm,
    stop: () => built.checkRun.stop(),
    change: () => {
      if (host.isConnected && built.view.isShowing('idle')) rebuild()
    },
  }
}

/** `<pohf-check site="agt_…">`: a form control whose value is the id of a session that passed. */
class PohfCheck extends HTMLElement {
  static readonly formAssociated = true
  static readonly observedAttributes = ['required', 'disabled', 'lang', 'mode']
  readonly #control = createControl(
    this,
    this.attachInternals(),
    this.attachShadow({ mode: 'open', delegatesFocus: true }),
  )
  connectedCallback(): void {
    void this.#control.connect()
  }
  /** Ends the check when the page removes the element. */
  disconnectedCallback(): void {
    this.#control.stop()
  }
  attributeChangedCallback(): void {
    this.#control.change()
  }
  formDisabledCallback(): void {
    this.#control.change()
  }
  formAssociatedCallback(): void {
    this.#control.holdForm()
  }
  formResetCallback(): void {
    this.#control.reset()
  }

  /** The id of the session that passed; empty before, and again when it has expired. */
  get response(): string {
    return this.#control.response()
  }
  /** Starts the check without a click, unless the browser asks for privacy: then the person has to agree first. */
  execute(): void {
    this.#control.execute()
  }
  /** Back to the beginning, as after a reset of the form. */
  reset(): void {
    this.#control.reset()
  }
}

export type { PohfCheck }
declare global {
  interface HTMLElementTagNameMap {
    'pohf-check': PohfCheck
  }
}

globalThis.pohf = { ...globalThis.pohf, start, asksForPrivacy }
if (!customElements.get('pohf-check')) customElements.define('pohf-check', PohfCheck)
