import { ok, problem, type Finding } from './finding.ts'
import { scriptPathOf, type Frame, type ScriptTag } from './page.ts'
import { isPohfScript, visitServiceOf } from './service.ts'
import type { OpenVisit, PageCall, Visit } from './visit.ts'

/** Policies under which other origins get the whole address of a page, with the token that a landing address has. */
const leaking = ['unsafe-url', 'no-referrer-when-downgrade']

const referrerFinding = (frame: Frame, headers: Visit['headers']): Finding => {
  // The last policy that a browser knows counts, and a meta element comes after the header.
  const policy = (frame.referrerPolicy ?? headers['referrer-policy'] ?? '')
    .toLowerCase()
    .split(',')
    .at(-1)
    ?.trim()
  return policy !== undefined && leaking.includes(policy)
    ? problem(
        'referrer',
        `The referrer policy of the page is "${policy}": what it loads from other origins before visit.js runs learns the view token.`,
        'Use Referrer-Policy: strict-origin-when-cross-origin, or put pohf_vt into the fragment of the address.',
      )
    : ok('referrer', 'Other origins do not get the view token as a referrer.')
}

const answerFinding = (service: string, called: PageCall): Finding => {
  if ('blockedBy' in called)
    return /csp/i.test(called.blockedBy)
      ? problem(
          'visit',
          `The Content Security Policy of the page blocks beacons to ${service}.`,
          `Add ${service} to connect-src.`,
        )
      : problem(
          'visit',
          `The page cannot send beacons to ${service}: ${called.blockedBy}.`,
          'Correct the address of the service, and use HTTPS for it if the page does.',
        )
  return called.status === 200
    ? ok('visit', `The service takes beacons of this page: ${service} answers.`)
    : problem(
        'visit',
        `The service answers a beacon with status ${called.status}.`,
        'Correct the address of the service, or run the command again later.',
      )
}

const consentFinding = ({ consent }: ScriptTag): Finding =>
  consent === null || consent === 'required'
    ? ok(
        'consent',
        consent === null
          ? 'Visits are reported at once, except where the browser sends Global Privacy Control.'
          : 'Visits are reported after pohf.consent(true).',
      )
    : problem(
        'consent',
        `data-consent is "${consent}", so visits are reported without consent.`,
        'Write data-consent="required", or remove the attribute.',
      )

/** Findings about the script of visits after a click. An empty list of beacons asks the service, and records nothing. */
export const visitFindings = async ({ visit, call }: OpenVisit): Promise<Finding[]> => {
  // One that a policy blocks counts, too: the policy may block its beacons as well, and one look should tell both.
  const known = visit.scripts.filter(
    (script) => isPohfScript(script) && (script.body !== null || /csp/i.test(script.failure ?? '')),
  )
  const found: Finding[] = []
  for (const frame of visit.frames) {
    const tag = frame.scripts.find(
      ({ src }) => scriptPathOf(src) === '/visit.js' && known.some(({ url }) => url === src),
    )
    if (!tag) continue
    const service = visitServiceOf(tag)
    if (service === null) {
      found.push(
        problem('visit', `data-base-url is not an address: "${tag.baseUrl}".`, 'Give https:// and the host.'),
      )
      continue
    }
    found.push(
      answerFinding(service, await call(frame, `${service}/api/track/event`, '[]')),
      referrerFinding(frame, visit.headers),
      consentFinding(tag),
    )
  }
  return found
}
