import { ok, printable, problem, warning, type Finding } from './finding.ts'
import type { Frame } from './page.ts'
import type { Visit } from './visit.ts'

const loadHints: Readonly<Record<string, string>> = {
  timeout: 'Look for a script that never ends, or for a server that answers slowly.',
  unreadable: 'Look for a script that never ends, or that moves on to another page at once.',
  'net::ERR_TOO_MANY_REDIRECTS': 'Correct the redirects: they lead in a circle.',
  'net::ERR_NAME_NOT_RESOLVED': 'Correct the host in the address.',
  'net::ERR_CONNECTION_REFUSED': 'Start the server, or correct the port in the address.',
}

const failureFinding = (failure: string): Finding => {
  if (failure === 'too large')
    return problem(
      'page',
      'The page sends more than 20 MB; the rest was not loaded.',
      'Make the page smaller.',
    )
  const hint = failure.startsWith('net::ERR_CERT_')
    ? 'Install a certificate that browsers trust.'
    : (loadHints[failure] ?? 'Open the address in a browser and correct what it shows.')
  if (failure === 'unreadable')
    return problem('page', 'The page loaded, but its scripts leave the browser no time to read it.', hint)
  return problem('page', `The page did not load: ${failure}.`, hint)
}

const statusFindings = (url: string, top: Frame, { status, redirects, hasLoaded }: Visit): Finding[] => {
  const address = top.url
  const via = redirects === 0 ? '' : `, after ${redirects} ${redirects === 1 ? 'redirect' : 'redirects'}`
  const found: Finding[] = []
  if (status !== null && status >= 400)
    found.push(
      problem(
        'page',
        `The page answers with status ${status}${via}.`,
        'Give the address of a page that visitors see without signing in.',
      ),
    )
  else if (URL.canParse(address) && new URL(address).host !== new URL(url).host)
    found.push(
      warning(
        'page',
        `The page redirects to another host, ${address}.`,
        'The findings are about that page: check that it is the one you mean.',
      ),
    )
  else found.push(ok('page', `The page loads: ${address}, status ${status ?? 'unknown'}${via}.`))
  if (!hasLoaded)
    found.push(
      warning(
        'page',
        'The page can be read, but did not finish loading in time.',
        'Look for an image, a frame or a script whose server does not answer.',
      ),
    )
  return found
}

const secureFinding = (top: Frame): Finding =>
  top.isSecure
    ? ok('https', 'The page is served over HTTPS, or from this machine.')
    : problem(
        'https',
        'The page is served without HTTPS, and browsers do not let it sign a session.',
        'Serve the page over HTTPS.',
      )

const frameFindings = (visit: Visit): Finding[] => {
  const policy = visit.headers['content-security-policy'] ?? ''
  const isRestricted = visit.headers['x-frame-options'] !== undefined || /frame-ancestors/i.test(policy)
  // A page without a check has nothing that another site could lead visitors to.
  if (visit.frames.every(({ controls }) => controls.length === 0)) return []
  const found = [
    isRestricted
      ? ok('frames', 'The page restricts which sites may show it in a frame.')
      : warning(
          'frames',
          'Every site may show this page in a frame, and lead its own visitors to the check.',
          "Send Content-Security-Policy: frame-ancestors 'self'.",
        ),
  ]
  for (const { origin, controls } of visit.frames.filter(({ isTop }) => !isTop))
    if (controls.length > 0)
      found.push(
        warning(
          'frames',
          `The check is in a frame of ${origin === 'null' ? 'a sandbox without an origin' : origin}.`,
          origin === 'null'
            ? 'Add allow-same-origin to the sandbox: sessions of such a frame fit no list of allowed origins.'
            : 'If you list allowedOrigins, list the origin of the frame.',
        ),
      )
  return found
}

const workerFindings = (first: Visit, second: Visit | undefined): Finding[] => {
  const isAnswered = [first, second].some((visit) =>
    visit?.scripts.some((script) => script.isFromServiceWorker),
  )
  const isControlled = [first, second].some((visit) => visit?.frames.some((frame) => frame.isControlled))
  if (isAnswered)
    return [
      problem(
        'service worker',
        'A service worker of the page delivers our script.',
        'Let the worker leave requests to the service alone: a stored script stops working after a release.',
      ),
    ]
  if (isControlled)
    return [
      warning(
        'service worker',
        'A service worker sees every request of the page.',
        'Check that it neither stores nor changes requests to the service.',
      ),
    ]
  return [ok('service worker', 'No service worker stands between the page and the service.')]
}

const interceptFinding = ({ isFetchReplaced }: Visit): Finding =>
  isFetchReplaced
    ? warning(
        'fetch',
        'A script of the page replaces the function fetch, by which the check calls the service.',
        'Monitoring tools do this. If the check fails, exclude the service from that tool.',
      )
    : ok('fetch', 'No script of the page replaces the function fetch.')

const languageOf = (text: string): string => text.toLowerCase().split('-')[0] ?? ''

const languageFinding = (top: Frame): Finding => {
  const shown = top.controls.find(({ shownLanguage }) => shownLanguage)?.shownLanguage ?? null
  if (!top.language)
    return warning(
      'language',
      'The page names no language, so the check is shown in English.',
      'Add lang to the html element, such as <html lang="en">.',
    )
  if (shown !== null && languageOf(shown) !== languageOf(top.language))
    return warning(
      'language',
      `The page is in "${top.language}", and the check is shown in "${shown}".`,
      'If the check has the language, set lang on its element; it has English and German.',
    )
  return ok('language', `The language is "${top.language}".`)
}

const consoleFindings = ({ errors }: Visit): Finding[] =>
  errors.length === 0
    ? [ok('console', 'The console has no error about our script.')]
    : errors.map((error) =>
        problem(
          'console',
          `The console has an error about our script: ${printable(error, 200)}`,
          'Open the page with the developer tools of a browser and follow the error.',
        ),
      )

/** Findings about the page itself. One that could not be read has a single finding. */
export const pageFindings = (url: string, first: Visit, second: Visit | undefined): Finding[] => {
  const top = first.frames.find(({ isTop }) => isTop)
  if (!top) return [failureFinding(first.failure ?? 'unreadable')]
  return [
    ...statusFindings(url, top, first),
    secureFinding(top),
    ...frameFindings(first),
    ...workerFindings(first, second),
    interceptFinding(first),
    languageFinding(top),
    ...consoleFindings(first),
  ]
}
