/** One of our scripts as the page names it. */
export type ScriptTag = {
  readonly src: string
  readonly type: string
  readonly isAsync: boolean
  readonly isDeferred: boolean
  readonly isInHead: boolean
  readonly hasIntegrity: boolean
  /** Of visit.js: `data-base-url` and `data-consent`. */
  readonly baseUrl: string | null
  readonly consent: string | null
}

/** A `<pohf-check>`, or a container of another product that a compatible script fills, or should have filled. */
export type Control = {
  readonly name: string
  readonly site: string | null
  readonly baseUrl: string | null
  readonly challenge: string | null
  readonly kind: string | null
  readonly mode: string | null
  /** The name of the form field. */
  readonly field: string
  readonly isElement: boolean
  /** Whether it is a container of another product, or in one. */
  readonly isContained: boolean
  readonly isRequired: boolean
  readonly isDisabled: boolean
  readonly isDefined: boolean
  readonly isVisible: boolean
  readonly width: number
  /** The position of its form in the page; null outside of any. */
  readonly form: number | null
  /** Other fields of the form with the name of its field. */
  readonly sameName: number
  /** The language that the element shows. */
  readonly shownLanguage: string | null
}

/** What one frame of the page contains. */
export type Frame = {
  readonly url: string
  readonly origin: string
  readonly isSecure: boolean
  readonly isTop: boolean
  readonly language: string | null
  readonly isControlled: boolean
  /** By a meta element. */
  readonly referrerPolicy: string | null
  readonly scripts: readonly ScriptTag[]
  readonly controls: readonly Control[]
}

/** The addresses of our scripts on a service. The last three are those of reCAPTCHA, hCaptcha and Turnstile. */
const scriptPaths = [
  '/check.js',
  '/tag.js',
  '/visit.js',
  '/recaptcha/api.js',
  '/1/api.js',
  '/turnstile/v0/api.js',
] as const
export type ScriptPath = (typeof scriptPaths)[number]

/** The address on the service of a script with this URL; undefined for scripts that are none of ours. */
export const scriptPathOf = (url: string): ScriptPath | undefined => {
  if (!URL.canParse(url)) return undefined
  const { pathname } = new URL(url)
  return scriptPaths.find((path) =>
    // A site that serves the script from its own folder keeps its name; the other addresses are fixed.
    path.lastIndexOf('/') === 0 ? pathname.endsWith(path) : pathname === path,
  )
}

/**
 * Runs in an isolated world of a frame, where no script of the page can replace what it calls. Every list and every
 * text has a limit.
 */
export const readFrame = `(() => {
  const cut = (value, length = 300) => (value === null || value === undefined ? null : String(value).slice(0, length))
  const names = '.g-recaptcha, .h-captcha, .cf-turnstile'
  const fields = { 'g-recaptcha': 'g-recaptcha-response', 'h-captcha': 'h-captcha-response', 'cf-turnstile': 'cf-turnstile-response' }
  const forms = [...document.forms]
  const formOf = (one) => one.hasAttribute('form') ? document.getElementById(one.getAttribute('form')) : one.closest('form')
  const scripts = [...document.querySelectorAll('script[src]')].filter((one) => /\\/(check|tag|visit|api)\\.js$/.test(new URL(one.src, document.baseURI).pathname))
  const isCheck = (one) => one?.localName === 'pohf-check'
  // A button has its check behind it.
  const checkOf = (one) => one.querySelector('pohf-check') ?? (isCheck(one.nextElementSibling) ? one.nextElementSibling : null)
  const containers = new Map([...document.querySelectorAll(names)].map((one) => [checkOf(one) ?? one, one]))
  const controls = [...document.querySelectorAll('pohf-check, ' + names)].filter((one) => isCheck(one) || containers.has(one))
  const read = (one) => {
    const isElement = isCheck(one)
    const container = containers.get(one)
    const name = container ? Object.keys(fields).find((key) => container.classList.contains(key)) : 'pohf-check'
    const attribute = (key, other = key) => cut(one.getAttribute(isElement ? key : other))
    const field = container ? fields[name] : attribute('name') || 'pohf-session'
    const form = formOf(one)
    return {
      name, field, isElement, isContained: container !== undefined,
      site: attribute('site', 'data-sitekey'),
      baseUrl: attribute('base-url'),
      challenge: attribute('challenge'),
      kind: attribute('kind'),
      mode: attribute('mode', 'data-size'),
      isRequired: one.hasAttribute('required'),
      isDisabled: one.matches(':disabled') || one.hasAttribute('disabled'),
      isDefined: isElement && one.matches(':defined'),
      isVisible: one.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
      width: Math.round(one.getBoundingClientRect().width),
      form: form === null ? null : forms.indexOf(form),
      sameName: form === null || !isElement ? 0 : [...form.querySelectorAll('input, textarea, select')].filter((other) => other.name === field && !one.contains(other)).length,
      shownLanguage: cut(one.shadowRoot?.querySelector('[lang]')?.lang, 35),
    }
  }
  return JSON.stringify({
    url: cut(location.href, 1000), origin: cut(self.origin), isSecure: isSecureContext, isTop: self === top,
    language: cut(document.documentElement?.lang, 35),
    isControlled: isSecureContext && self.origin !== 'null' && Boolean(navigator.serviceWorker?.controller),
    referrerPolicy: cut(document.querySelector('meta[name="referrer" i]')?.content, 100),
    scripts: scripts.slice(0, 20).map((one) => ({
      src: cut(one.src, 1000), type: cut(one.type), isAsync: one.async, isDeferred: one.defer,
      isInHead: one.closest('head') !== null, hasIntegrity: one.integrity !== '',
      baseUrl: cut(one.dataset.baseUrl), consent: cut(one.dataset.consent, 35),
    })),
    controls: controls.slice(0, 20).map(read),
  })
})()`

/** Calls the service as the tag does; the answer is the status and the beginning of the text. */
export const callFromPage = (url: string, body: string | undefined): string => `(async () => {
  try {
    const response = await fetch(${JSON.stringify(url)}, {
      ${body === undefined ? "mode: 'no-cors'," : `method: 'POST', body: ${JSON.stringify(body)},`}
      credentials: 'omit', cache: 'no-store', signal: AbortSignal.timeout(8000),
    })
    return JSON.stringify({ status: response.status, text: ${body === undefined ? "''" : '(await response.text()).slice(0, 2000)'} })
  } catch {
    return 'null'
  }
})()`
