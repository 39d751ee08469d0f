import { isId } from '@pohf/protocol'
import { ok, problem, warning, type Finding } from './finding.ts'
import { scriptPathOf } from './page.ts'
import {
  connectionKey,
  siteKey,
  targetsOf,
  type ServiceFacts,
  type SiteAnswer,
  type Target,
} from './service.ts'
import type { PageCall, Visit } from './visit.ts'

/** The narrowest place in which the check fits. */
const widthMin = 300
const challengeMax = 128
const kinds: readonly string[] = ['view', 'work', 'task']
const modes: readonly string[] = ['managed', 'invisible']

const elementFindings = ({ control, service }: Target): Finding[] => {
  const found: Finding[] = []
  if (control.isElement && !control.isDefined)
    found.push(
      problem(
        'element',
        'No script has made <pohf-check> an element: visitors see nothing.',
        'Correct the script first, see above.',
      ),
    )
  if (control.baseUrl !== null && service === null)
    found.push(
      problem('element', `base-url is not an address: "${control.baseUrl}".`, 'Give https:// and the host.'),
    )
  if (control.kind !== null && control.isElement && !kinds.includes(control.kind))
    found.push(problem('element', `kind is "${control.kind}".`, 'Use view, work or task.'))
  if (control.mode !== null && control.isElement && !modes.includes(control.mode))
    found.push(problem('element', `mode is "${control.mode}".`, 'Use managed or invisible.'))
  if (control.isDisabled)
    found.push(
      warning(
        'element',
        'The check is disabled.',
        'Remove disabled from it and from the fieldset around it.',
      ),
    )
  return found.length === 0
    ? [
        ok(
          'element',
          `There is a check: ${control.isContained ? `a container .${control.name}` : '<pohf-check>'}.`,
        ),
      ]
    : found
}

const formFindings = ({ control, frame }: Target): Finding[] => {
  if (control.form === null)
    return [
      warning(
        'form',
        'The check is in no form, so no field carries its result to your server.',
        'Put it into the form, or send the session id from your own script on the event pohf-done.',
      ),
    ]
  const others = frame.controls.filter(({ form, field }) => form === control.form && field === control.field)
  if (others.length > 1 || control.sameName > 0)
    return [
      problem(
        'form',
        `The form has more than one field "${control.field}".`,
        'Keep one check in a form, or give each a name of its own by the attribute name.',
      ),
    ]
  return [ok('form', `The check is in a form, and its field is "${control.field}".`)]
}

const challengeFinding = (
  { control }: Target,
  index: number,
  second: readonly Target[] | undefined,
): Finding => {
  const { challenge, isContained } = control
  if (isContained)
    return ok('challenge', 'The form needs no challenge: siteverify accepts each session once.')
  if (!challenge)
    return warning(
      'challenge',
      'The check has no challenge, so a session made for another form passes in this one.',
      'Let your server make a nonce for each form and give it in the attribute challenge.',
    )
  if (challenge.length > challengeMax)
    return problem(
      'challenge',
      `The challenge is longer than ${challengeMax} characters, which the service refuses.`,
      'Use a random text of 16 to 128 characters.',
    )
  if (!second)
    return warning(
      'challenge',
      'The page did not load a second time, so it is unknown whether the challenge changes.',
      'Run the command again.',
    )
  return second[index]?.control.challenge === challenge
    ? problem(
        'challenge',
        'The challenge was the same at two loads: a session for one form passes in all others.',
        'Make a new nonce for each form, and do not store the page in a cache.',
      )
    : ok('challenge', 'The challenge was different at a second load.')
}

const requiredFinding = ({ control }: Target): Finding[] => {
  if (control.isContained) return []
  return [
    control.isRequired
      ? ok('required', 'The browser holds the form back until the check is passed.')
      : warning(
          'required',
          'The form can be sent without the check.',
          'Add required, or let your server decide about a form without the field.',
        ),
  ]
}

const sizeFinding = (
  { control }: Target,
  index: number,
  second: readonly Target[] | undefined,
): Finding[] => {
  if (control.isElement && !control.isDefined) return []
  if (control.mode === 'invisible') return [ok('size', 'The check is invisible, as its attribute says.')]
  if (!control.isVisible)
    return [
      warning(
        'size',
        'The check cannot be seen when the page has loaded.',
        'If no step of the visitor shows it, remove the style that hides it.',
      ),
    ]
  const widths = [control.width, second?.[index]?.control.width ?? control.width]
  const width = Math.min(...widths)
  return [
    width < widthMin
      ? warning(
          'size',
          `The check is ${width} px wide${widths[0] === width ? '' : ' on a screen of 360 px'}.`,
          `Give it at least ${widthMin} px.`,
        )
      : ok('size', `The check can be seen and is at least ${width} px wide.`),
  ]
}

const connectionFinding = ({ service }: Target, called: PageCall | undefined): Finding[] => {
  if (service === null || !called) return []
  if (!('blockedBy' in called)) return [ok('connection', `The page may call ${service}.`)]
  if (/csp/i.test(called.blockedBy))
    return [
      problem(
        'connection',
        `The Content Security Policy of the page blocks calls to ${service}.`,
        `Add ${service} to connect-src.`,
      ),
    ]
  return [
    problem(
      'connection',
      `The page cannot call ${service}: ${called.blockedBy}.`,
      'Correct the address of the service, and use HTTPS for it if the page does.',
    ),
  ]
}

const siteHints: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  not_found: [
    'The service does not know this site.',
    'Copy the id of your agent (GET /api/agents/me) into site.',
  ],
  forbidden: [
    'The origin of the page is not in the allowed origins of this site.',
    'Add it to allowedOrigins with PATCH /api/agents/me.',
  ],
}

const knownSiteFindings = ({ frame }: Target, { mode, hasOpened }: SiteAnswer): Finding[] => {
  const how = hasOpened ? ' A session was opened to find out, and left.' : ''
  const found = [
    ok('site', `The service knows the site, and ${frame.origin} may open sessions for it.${how}`),
  ]
  if (mode === 'test')
    found.push(
      warning(
        'mode',
        'The site is in test mode: its credentials prove nothing.',
        'Use the id of a live agent before visitors come.',
      ),
    )
  else
    found.push(
      ok(
        'mode',
        mode === 'live'
          ? 'The site is live.'
          : 'Only a key of the site tells test from live: --url and --key.',
      ),
    )
  return found
}

const siteFindings = (target: Target, answer: SiteAnswer | undefined): Finding[] => {
  const { site } = target.control
  if (!isId('agt_', site ?? ''))
    return [
      problem(
        'site',
        site === null ? 'The check names no site.' : `"${site}" is not the id of an agent.`,
        `Give the id of your agent, agt_…, in ${target.control.isContained ? 'data-sitekey' : 'site'}.`,
      ),
    ]
  if (!answer) return []
  const [message, hint] = siteHints[answer.answer] ?? []
  const found =
    answer.answer === 'ok'
      ? knownSiteFindings(target, answer)
      : message !== undefined && hint !== undefined
        ? [problem('site', message, hint)]
        : [
            warning(
              'site',
              `The service did not say whether it knows the site: ${answer.answer}.`,
              'Run the command again.',
            ),
          ]
  if (answer.otherAgent !== null)
    found.push(
      warning(
        'key',
        `The key belongs to ${answer.otherAgent}, another agent than the site.`,
        'A server with this key does not find the sessions of this page: use the key of the site.',
      ),
    )
  return found
}

const noControlFinding = ({ scripts }: Visit): Finding =>
  scripts.length > 0 && scripts.every(({ url }) => ['/tag.js', '/visit.js'].includes(scriptPathOf(url) ?? ''))
    ? ok('element', 'The page has no check, and its scripts need none.')
    : problem(
        'element',
        'The page has no <pohf-check>.',
        'Add <pohf-check site="YOUR_AGENT_ID"></pohf-check> to the form. If a script adds it later, use --wait.',
      )

/** Findings about the checks of the page and the service behind them. */
export const controlFindings = (first: Visit, second: Visit | undefined, facts: ServiceFacts): Finding[] => {
  const targets = targetsOf(first)
  const again = second && targetsOf(second)
  if (targets.length === 0) return [noControlFinding(first)]
  const connections = new Map(targets.map((target) => [connectionKey(target), target]))
  const ofTarget = (target: Target, index: number): Finding[] => [
    ...elementFindings(target),
    ...formFindings(target),
    challengeFinding(target, index, again),
    ...requiredFinding(target),
    ...sizeFinding(target, index, again),
    ...siteFindings(target, facts.sites.get(siteKey(target))),
  ]
  return [
    ...targets.flatMap((target, index) =>
      ofTarget(target, index).map((finding) =>
        targets.length === 1 ? finding : { ...finding, message: `Check ${index + 1}: ${finding.message}` },
      ),
    ),
    ...[...connections].flatMap(([key, target]) => connectionFinding(target, facts.connections.get(key))),
  ]
}

/** Whether the key and the service that the command names are those of the page, with a check or without. */
export const keyFindings = ({ keyFault, otherServices }: ServiceFacts, service: string): Finding[] => {
  if (keyFault !== null)
    return [
      warning(
        'key',
        `The key could not be used at ${service}: ${keyFault}`,
        'Correct --key or --url, or leave the key out.',
      ),
    ]
  return otherServices.map((other) =>
    warning(
      'key',
      `The page uses the service ${other}, and the key was tried at ${service}.`,
      'Name the service of the page in --url, or correct the address of the script.',
    ),
  )
}
