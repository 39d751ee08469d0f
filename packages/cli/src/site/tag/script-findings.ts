import { ok, problem, warning, type Finding } from './finding.ts'
import { scriptPathOf, type Frame, type ScriptTag } from './page.ts'
import { isOtherProduct, isPohfScript, type ScriptResponse, type ServiceFacts } from './service.ts'
import type { LoadedScript, Visit } from './visit.ts'

const blockedFinding = ({ url, failure, status }: LoadedScript): Finding => {
  const { origin } = new URL(url)
  if (status !== null && status >= 400)
    return problem(
      'script',
      `The script ${url} answers with status ${status}.`,
      'Correct its address: the service has /check.js, /tag.js and /visit.js.',
    )
  // Chromium says so where another origin answers a request for a script with something else, such as an error page.
  if (/BLOCKED_BY_ORB/.test(failure ?? ''))
    return problem(
      'script',
      `The address ${url} does not deliver a script.`,
      'Correct it: the service has /check.js, /tag.js and /visit.js.',
    )
  if (/csp/i.test(failure ?? ''))
    return problem(
      'script',
      `The Content Security Policy of the page blocks ${url}.`,
      `Add ${origin} to script-src.`,
    )
  if (/mixed-content/i.test(failure ?? ''))
    return problem(
      'script',
      `The page is on HTTPS and loads ${url} without it, which browsers block.`,
      'Load the script over HTTPS.',
    )
  return problem(
    'script',
    `The script ${url} did not load: ${failure ?? 'no answer'}.`,
    'Open its address in a browser. Extensions, a proxy or a wrong media type may block it too.',
  )
}

const bytesFinding = (script: LoadedScript, delivered: ScriptResponse | undefined): Finding[] => {
  if (!delivered || !script.body) return []
  if ('failure' in delivered || delivered.status !== 200)
    return [
      problem(
        'service',
        `The address that the script calls does not deliver our scripts: ${'failure' in delivered ? delivered.failure : `status ${delivered.status}`}.`,
        'If you serve the script yourself, name the service: base-url at the check, data-base-url at visit.js.',
      ),
    ]
  return [
    script.body.equals(delivered.body)
      ? ok('bytes', 'The script is the one that the service delivers now.')
      : problem(
          'bytes',
          `The script ${script.url}, as the browser read it, differs from what the service delivers now.`,
          'Load it from the service; or copy it at each release, and serve it as text/javascript; charset=utf-8.',
        ),
  ]
}

const tagFindings = (tag: ScriptTag, frame: Frame): Finding[] => {
  const found: Finding[] = []
  const isVisit = scriptPathOf(tag.src) === '/visit.js'
  const hasBaseUrl = frame.controls.every(({ baseUrl }) => baseUrl !== null)
  if (tag.type === 'module' && (isVisit || !(frame.controls.length > 0 && hasBaseUrl)))
    found.push(
      problem(
        'script tag',
        'The script is loaded as a module and cannot know the address of the service.',
        isVisit
          ? 'Remove type="module".'
          : 'Remove type="module", or name the service in the attribute base-url.',
      ),
    )
  if (tag.hasIntegrity)
    found.push(
      warning(
        'script tag',
        'The script tag has an integrity attribute, and the script changes with every release.',
        'Remove integrity, or the script stops working at the next release.',
      ),
    )
  if (tag.isInHead && !tag.isAsync && !tag.isDeferred && tag.type !== 'module')
    found.push(
      warning(
        'script tag',
        'The page waits for the script before it shows anything.',
        'Add async to the script tag.',
      ),
    )
  return found.length === 0 ? [ok('script tag', 'The script tag is as it should be.')] : found
}

const noScriptFinding = ({ frames, scripts }: Visit, service: string): Finding => {
  const other = [
    ...frames.flatMap((frame) => frame.scripts.map(({ src }) => src)),
    ...scripts.map(({ url }) => url),
  ]
    .filter((url) => scriptPathOf(url) !== undefined)
    .find(isOtherProduct)
  if (other !== undefined)
    return problem(
      'script',
      `The page loads the script of another product, ${other}.`,
      'Replace the host of that address by the host of the service.',
    )
  const isDefined = frames.some((frame) => frame.controls.some((control) => control.isDefined))
  return isDefined
    ? warning(
        'script',
        'The check is there, but its script has a name of your own or is part of another script.',
        'Load check.js from the service: your copy does not follow its releases.',
      )
    : problem(
        'script',
        'The page loads no script of ours.',
        `Add <script async src="${service}/check.js"></script>, or visit.js on a landing page. If a script adds it later, use --wait.`,
      )
}

const loadedFindings = (script: LoadedScript, visit: Visit, facts: ServiceFacts): Finding[] => {
  const found = [ok('script', `The page loads ${script.url}.`)]
  if (!/^(text|application)\/javascript\b/i.test(script.mediaType))
    found.push(
      warning(
        'script',
        `The script has the media type "${script.mediaType}".`,
        'Serve it as text/javascript: with X-Content-Type-Options: nosniff browsers refuse other types.',
      ),
    )
  for (const frame of visit.frames)
    for (const tag of frame.scripts.filter(({ src }) => src === script.url).slice(0, 1))
      found.push(...tagFindings(tag, frame))
  return [...found, ...bytesFinding(script, facts.delivered.get(script.url))]
}

/** Findings about the scripts of ours that the page loads. `service` is the one that the command names. */
export const scriptFindings = (visit: Visit, facts: ServiceFacts, service: string): Finding[] => {
  const ours = visit.scripts.filter(isPohfScript)
  const loaded = ours.filter(({ body, failure }) => body !== null && failure === null)
  // A script that did not arrive may be a stranger's, such as a tag.js of another product.
  const missing = ours.filter(
    (script) =>
      !loaded.includes(script) &&
      (loaded.length === 0 || loaded.some(({ url }) => new URL(url).origin === new URL(script.url).origin)),
  )
  if (loaded.length === 0 && missing.length === 0) return [noScriptFinding(visit, service)]
  const doubled = visit.frames.some(
    ({ scripts }) =>
      scripts.filter(({ src }) => scriptPathOf(src) !== '/visit.js' && loaded.some(({ url }) => url === src))
        .length > 1,
  )
  return [
    ...missing.map(blockedFinding),
    ...loaded.flatMap((script) => loadedFindings(script, visit, facts)),
    ...(doubled
      ? [
          warning(
            'script',
            'The page loads more than one script of ours.',
            'Keep one script tag: check.js contains what tag.js does.',
          ),
        ]
      : []),
  ]
}
