import './check.ts'

// Stands in for the scripts of reCAPTCHA, hCaptcha and Turnstile: the same elements, the same calls, our check.

/** The check as its guide describes it. */
type Check = HTMLElement & { readonly response: string; execute(): unknown; reset(): unknown }
type Parameters = Readonly<Record<string, unknown>>
type Widget = {
  readonly id: number | string
  readonly host: Element
  readonly check: Check
  /** The calls of `execute` without an answer yet. */
  readonly waiting: (readonly [resolve: (token: string) => void, reject: (error: Error) => void])[]
  isExpired?: boolean
}
/** What a caller may name a widget by; without a name the first is meant. */
type Name = number | string | Element | null | undefined

/** The address of each script, its global, and the class of its elements, which is in the name of its field too. */
const services = [
  ['/recaptcha/api.js', 'grecaptcha', 'g-recaptcha'],
  ['/1/api.js', 'hcaptcha', 'h-captcha'],
  ['/turnstile/v0/api.js', 'turnstile', 'cf-turnstile'],
] as const

const url = new URL((document.currentScript as HTMLScriptElement | null)?.src || 'about:blank')
const setting = (name: string) => url.searchParams.get(name)
const isOwn = ([path]: (typeof services)[number]) => url.pathname.endsWith(path)
/** hCaptcha answers to the names of reCAPTCHA unless told not to, Turnstile where told to. */
const alsoRecaptcha =
  setting('compat') === 'recaptcha' || (isOwn(services[1]) && setting('recaptchacompat') !== 'off')
/** Those of the address that this script came from; all of them where it was copied. */
const served = services.some(isOwn)
  ? services.filter((service) => isOwn(service) || (alsoRecaptcha && service === services[0]))
  : services
const fields = served.map(([, , name]) => `${name}-response`).join(' ')

/** siteverify accepts a session for 300 s after its end; the page learns of it a little later. */
const validSeconds = '270'

const widgets: Widget[] = []
let count = 0

const find = (name: Name): Widget | undefined =>
  name === undefined || name === null
    ? widgets[0]
    : widgets.find(({ id, host }) => id === name || host === name || `#${host.id}` === name)

const need = (name: Name): Widget => {
  const widget = find(name)
  if (!widget) throw new Error('pohf: no such element')
  return widget
}

/** Calls a function, or the global function of this name. */
const call = (callback: unknown, ...values: unknown[]): void => {
  const found: unknown = typeof callback === 'string' ? Reflect.get(globalThis, callback) : callback
  if (typeof found === 'function') found(...values)
}

const set = (check: Check, attribute: string, value: unknown): void => {
  // `auto` is what the check does by itself.
  if (typeof value === 'string' && value !== 'auto') check.setAttribute(attribute, value)
  else check.removeAttribute(attribute)
}

const makeCheck = (option: (name: string) => unknown, isInvisible: boolean): Check => {
  const check = document.createElement('pohf-check') as Check
  set(check, 'site', option('sitekey'))
  set(check, 'challenge', option('action'))
  set(check, 'lang', option('language') ?? option('hl') ?? setting('hl'))
  set(check, 'theme', option('theme'))
  set(check, 'valid-seconds', validSeconds)
  if (String(option('response-field')) !== 'false')
    set(check, 'response-field', option('response-field-name') ?? fields)
  set(check, 'mode', isInvisible && 'invisible')
  return check
}

type Failure = { readonly code: string; readonly reasons?: readonly string[] }

const listen = (widget: Widget, option: (name: string) => unknown): void => {
  const { check, waiting } = widget
  check.addEventListener('pohf-done', () => {
    widget.isExpired = false
    for (const [resolve] of waiting.splice(0)) resolve(check.response)
    call(option('callback'), check.response)
  })
  check.addEventListener('pohf-failed', (event) => {
    const { code, reasons } = (event as CustomEvent<Failure>).detail
    // After a verdict the person tries again in the check, or leaves it.
    if (!reasons) for (const [, reject] of waiting.splice(0)) reject(new Error(code))
    call(option('error-callback'), code)
  })
  check.addEventListener('pohf-expired', () => {
    widget.isExpired = true
    call(option('expired-callback'))
  })
}

/** Puts a check into an element, or beside a button, which then starts it. */
const render = (where: Name, given: Parameters = {}): Widget['id'] => {
  const host =
    typeof where === 'string' ? (document.getElementById(where) ?? document.querySelector(where)) : where
  if (!(host instanceof Element)) throw new Error('pohf: no such element')
  const known = find(host)
  if (known) return known.id
  const option = (name: string): unknown => given[name] ?? host.getAttribute(`data-${name}`) ?? undefined
  const isButton = host.matches('button, input')
  const check = makeCheck(option, isButton || option('size') === 'invisible')
  // Ids of reCAPTCHA are numbers from 0; pages of the others take 0 for none.
  const id = isOwn(services[0]) ? count : `pohf-${count}`
  count += 1
  const widget: Widget = { id, host, check, waiting: [] }
  widgets.push(widget)
  listen(widget, option)
  if (isButton) {
    host.after(check)
    host.addEventListener('click', (event) => {
      event.preventDefault()
      // The page may have refused the form for another reason: its response is good until it is used.
      if (check.response) call(option('callback'), check.response)
      else check.execute()
    })
  } else host.append(check)
  return id
}

/** The widget of a page that names no element but a site, as with reCAPTCHA v3. */
const findOfSite = (site: string, given: Parameters): Widget => {
  const known = widgets.find(({ check }) => check.getAttribute('site') === site)
  if (known) return known
  const host = document.body.appendChild(document.createElement('div'))
  return need(render(host, { ...given, sitekey: site, size: 'invisible' }))
}

type ExecuteOptions = Parameters & { readonly async?: boolean }
const execute = (name?: Name, given: ExecuteOptions = {}): Promise<unknown> => {
  const isSite = typeof name === 'string' && name.startsWith('agt_') && !find(name)
  const widget = isSite ? findOfSite(name, given) : need(name)
  const { check } = widget
  // A page that names a site expects another token each time, for the action of this call.
  if (isSite) {
    if (check.response) api.reset(widget.id)
    set(check, 'challenge', given['action'])
  }
  const token = new Promise<string>((resolve, reject) => {
    if (check.response) return resolve(check.response)
    widget.waiting.push([resolve, reject])
    check.execute()
  })
  // Whoever uses callbacks does not look at the promise.
  token.catch(() => undefined)
  return given.async ? token.then((response) => ({ response, key: response })) : token
}

const api = {
  render,
  execute,
  getResponse: (name?: Name): string => find(name)?.check.response ?? '',
  isExpired: (name?: Name): boolean => find(name)?.isExpired === true,
  reset: (name?: Name): void => {
    const widget = need(name)
    widget.isExpired = false
    widget.check.reset()
  },
  remove: (name?: Name): void => {
    const widget = need(name)
    // Its time may not run out later: the page would name an element to `reset` that is gone.
    widget.check.reset()
    widget.check.remove()
    widgets.splice(widgets.indexOf(widget), 1)
  },
  ready: call,
}

for (const [, name] of served) {
  const known: unknown = Reflect.get(globalThis, name)
  Reflect.set(globalThis, name, Object.assign(known ?? {}, api))
}

const start = (): void => {
  if (setting('render') !== 'explicit')
    for (const [, , name] of served)
      for (const host of document.querySelectorAll(`.${name}[data-sitekey]`)) render(host)
  // What a page left for `ready` before this script came.
  const queued = (globalThis as { ___grecaptcha_cfg?: { fns?: unknown[] } }).___grecaptcha_cfg?.fns ?? []
  for (const callback of queued) call(callback)
  call(setting('onload'))
}
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start)
else start()
